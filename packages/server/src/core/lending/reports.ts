import type { ResolveReport } from '../command.ts';
import { ON_LICENSE } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import { type Meter, WHOLE_LICENSE } from '../nouns/consumption.ts';
import type { Instant } from '../nouns/instant.ts';
import type { LicenseView, Report } from '../view.ts';
import { isOneWindow, knownTotal, periodOf, rebase } from './cloud-total.ts';
import { type Collected, collectedChanges } from './collect.ts';
import { reportedMeterOf } from './meter-need.ts';

/**
 * How consumption reaches the vendor. What is counted is *pending* from the same commit on. A report is
 * *cut*: everything pending goes under one id, in one commit, before anything is sent; a meter has one report
 * at a time. The vendor's answer *settles* it. If the answer is lost, the same report is sent again, if the
 * vendor counts each id only once. If not, the vendor's total decides: if it moved by exactly the amount, the
 * report was counted; if it did not move, the report is sent again; otherwise the report is *uncertain*. It
 * is put aside until a person settles it, and later consumption is reported without it. So no amount is ever
 * counted twice.
 */

export const ON_REPORT = {
  ...ON_LICENSE,
  meter: reportedMeterOf,
};

export const NOTHING_DONE = { kind: 'done', count: 0 } as const;

export function findReport(view: LicenseView, id: string): Report | undefined {
  return view.listReports().find((report) => report.id === id);
}

/** The report is not sent again. Later ones are compared with the cloud's total, unless that may be old. */
export function putAside(
  { cloudTotal, takesLower }: Pick<ResolveReport, 'cloudTotal' | 'takesLower'>,
  view: LicenseView,
  base: Collected,
  report: Report,
  now: Instant,
): Decision {
  const meter = view.meter as Meter;
  const isCredible =
    cloudTotal !== null && (takesLower || cloudTotal >= (knownTotal(view.license, meter, now) ?? 0));
  const isUsable = isCredible && isOneWindow(periodOf(view.license, meter.feature), now, now);
  const rebased = isUsable ? rebase(meter, cloudTotal, now) : { changes: [], events: [] };
  return {
    outcome: NOTHING_DONE,
    changes: [
      ...collectedChanges(view, base),
      { kind: 'mark_report_uncertain', reportId: report.id },
      ...rebased.changes,
    ],
    events: [...base.events, tellReport('report_uncertain', report, 'cloud'), ...rebased.events],
  };
}

export function tellReport(
  kind: 'consumption_reported' | 'report_uncertain' | 'report_withdrawn',
  { id, feature, amount }: Report,
  by: Actor,
) {
  return { kind, feature: feature === WHOLE_LICENSE ? null : feature, amount, reportId: id, by } as const;
}
