import type { ResolveReport } from '../command.ts';
import { ON_LICENSE } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import { type Meter, WHOLE_LICENSE } from '../nouns/consumption.ts';
import type { Instant } from '../nouns/instant.ts';
import { type LicenseView, NO_NEEDS, type Report } from '../view.ts';
import { isOneWindow, knownTotal, periodOf, rebase } from './cloud-total.ts';
import { type Collected, collectedChanges } from './collect.ts';
import { reportedMeterOf } from './meter-need.ts';

/**
 * How consumption reaches the vendor. What is counted is *pending* from the same commit on. A report is
 * *cut*: all that is pending goes under one id, in one commit, before anything is sent; a meter has one
 * report at a time. The vendor's answer *settles* it. Whoever did not hear the answer sends the same report
 * again where the vendor counts an id only once. Where it does not, the vendor's total is looked at: moved by
 * exactly the amount, it was counted; unmoved, it was not, and the report is sent again; anything else, and
 * the report is *uncertain*: it is put aside until a person settles it, and what is counted from then on is
 * reported without it. An amount is thus never counted twice.
 */

export const ON_REPORT = {
  ...ON_LICENSE,
  meter: reportedMeterOf,
  needs: () => ({ ...NO_NEEDS, reports: true }),
};

export const NOTHING_DONE = { kind: 'done', count: 0 } as const;

export function findReport(view: LicenseView, id: string): Report | undefined {
  return view.reports.find((report) => report.id === id);
}

/**
 * Whatever became of it, it is over: the cloud's total is what further reports are measured by, unless it may
 * be an old one.
 */
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
