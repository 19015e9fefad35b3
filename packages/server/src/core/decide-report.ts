import { collect, collectedChanges } from './collect.ts';
import type { CutReport, SettleReport } from './command.ts';
import { LARGEST_AMOUNT, type Meter, WHOLE_LICENSE } from './consumption.ts';
import { withoutEffect } from './decide-unregister.ts';
import type { Decision } from './decision.ts';
import type { Instant } from './instant.ts';
import type { LicenseView } from './view.ts';

/**
 * Takes everything that is pending and puts it under an id, in one commit: what is on its way is neither
 * pending nor reported, and a repeated cut with the same id takes nothing.
 */
export function decideCutReport(command: CutReport, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { storedInUse: _, ...meter } = view.meter as Meter;
  if (view.report !== null || meter.pending === 0)
    return withoutEffect(view, base, { kind: 'done', count: 0 });
  const report = { id: command.reportId, feature: meter.feature, amount: meter.pending, cutAt: now };
  return {
    outcome: { kind: 'done', count: meter.pending },
    changes: [
      ...collectedChanges(view, base),
      { kind: 'put_meter', meter: { ...meter, pending: 0 } },
      { kind: 'add_report', report },
    ],
    events: base.events,
  };
}

/** The report's amount is reported, or pending again. Settling it twice changes nothing. */
export function decideSettleReport(command: SettleReport, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { report } = view;
  if (report === null) return withoutEffect(view, base, { kind: 'done', count: 0 });
  const { storedInUse: _, ...meter } = view.meter as Meter;
  const { id: reportId, amount } = report;
  const feature = report.feature === WHOLE_LICENSE ? null : report.feature;
  const settled = command.isCounted
    ? { ...meter, reported: addUp(meter.reported, amount) }
    : { ...meter, pending: addUp(meter.pending, amount) };
  return {
    outcome: { kind: 'done', count: amount },
    changes: [
      ...collectedChanges(view, base),
      { kind: 'put_meter', meter: settled },
      { kind: 'remove_report', reportId },
    ],
    events: command.isCounted
      ? [...base.events, { kind: 'consumption_reported', feature, amount, reportId }]
      : base.events,
  };
}

/** An amount that no number can tell any more stays the largest one, so that the meter can still be read. */
function addUp(before: number, amount: number): number {
  return Math.min(before + amount, LARGEST_AMOUNT);
}
