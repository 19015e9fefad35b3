import type { CutReport, ResolveReport, SettleReport } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import {
  isOneWindow,
  knownTotal,
  listUnderWay,
  periodOf,
  type Rebased,
  rebase,
} from '../lending/cloud-total.ts';
import { type Collected, collect, collectedChanges, withoutEffect } from '../lending/collect.ts';
import { reportedMeterOf } from '../lending/meter-need.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { LARGEST_AMOUNT, type Meter, WHOLE_LICENSE, windowStart } from '../nouns/consumption.ts';
import type { Instant } from '../nouns/instant.ts';
import type { LicenseView, Report } from '../view.ts';

/**
 * How consumption reaches the vendor. What is counted is *pending* from the same commit on. A report is
 * *cut*: everything pending goes under one id, in one commit, before anything is sent; a meter has one report
 * at a time. The vendor's answer *settles* it. If the answer is lost, the same report is sent again, if the
 * vendor counts each id only once. If not, the vendor's total decides: if it moved by exactly the amount, the
 * report was counted; if it did not move, the report is sent again; otherwise the report is *uncertain*. It
 * is put aside until a person settles it, and later consumption is reported without it. So no amount is ever
 * counted twice.
 */

const ON_REPORT = {
  ...ON_LICENSE,
  meter: reportedMeterOf,
};

const NOTHING_DONE = { kind: 'done', count: 0 } as const;

function findReport(view: LicenseView, id: string): Report | undefined {
  return view.listReports().find((report) => report.id === id);
}

/** The report is not sent again. Later ones are compared with the cloud's total, unless that may be old. */
function markUncertain(
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
    events: [...base.events, reportEvent('report_uncertain', report, 'cloud'), ...rebased.events],
  };
}

function reportEvent(
  kind: 'consumption_reported' | 'report_uncertain' | 'report_withdrawn',
  { id, feature, amount }: Report,
  by: Actor,
) {
  return { kind, feature: feature === WHOLE_LICENSE ? null : feature, amount, reportId: id, by } as const;
}

/** Takes everything that is pending and puts it under an id. A repeated cut takes nothing. */
export const cutReport = {
  ...ON_REPORT,

  decide({ reportId: id }, view, now) {
    const base = collect(view, now);
    const { storedInUse: _, ...meter } = view.meter as Meter;
    const { feature, pending: amount } = meter;
    const isUnderWay = listUnderWay(view).some((report) => report.feature === feature);
    if (isUnderWay || amount === 0) return withoutEffect(view, base, NOTHING_DONE);
    return {
      outcome: { kind: 'done', count: amount },
      changes: [
        ...collectedChanges(view, base),
        { kind: 'put_meter', meter: { ...meter, pending: 0 } },
        { kind: 'add_report', report: { id, feature, amount, cutAt: now, uncertainAt: null } },
      ],
      events: base.events,
    };
  },
} satisfies CommandModule<CutReport>;

/**
 * The report's amount is reported, or pending again. Settling it twice changes nothing. An answer that is not
 * bound to its request settles it only if its total can include the amount. Otherwise the report stays; but
 * if the answer repeats its id, that id is used up, for another amount or before a total was lowered: sending
 * it again would prove nothing, so it is uncertain.
 */
export const settleReport = {
  ...ON_REPORT,
  mayBeRemoved: () => true,

  decide(command, view, now) {
    const base = collect(view, now);
    const report = findReport(view, command.reportId);
    if (report === undefined) return withoutEffect(view, base, NOTHING_DONE);
    if (!command.isSure && !canHold(command, report, view, now)) {
      const isUsedUp = command.isEchoed === true && report.uncertainAt === null;
      return isUsedUp
        ? markUncertain(command, view, base, report, now)
        : withoutEffect(view, base, NOTHING_DONE);
    }
    const settled = command.isCounted
      ? counted(view, report, command, now)
      : withdrawn(view.meter as Meter, report);
    return {
      outcome: { kind: 'done', count: report.amount },
      changes: [
        ...collectedChanges(view, base),
        ...settled.changes,
        { kind: 'remove_report', reportId: report.id },
      ],
      events: [...base.events, ...settledEvents(command, report), ...settled.events],
    };
  },
} satisfies CommandModule<SettleReport>;

/**
 * Returns whether the cloud's total can include the report. If the cloud's earlier total is unknown, it has
 * counted nothing but reports. A report that was cut in an earlier window may have been counted in that one:
 * then only its id can tell.
 */
function canHold(
  { cloudTotal, feature, isEchoed }: SettleReport,
  { amount, cutAt }: Report,
  { license, meter }: LicenseView,
  now: Instant,
): boolean {
  const period = periodOf(license, feature ?? WHOLE_LICENSE);
  if (isEchoed === true && windowStart(period, cutAt) !== windowStart(period, now)) return true;
  return cloudTotal !== null && cloudTotal >= (knownTotal(license, meter as Meter, now) ?? 0) + amount;
}

/**
 * The cloud's total includes the report now. If the cloud did not send it, the known one is forgotten. It
 * included an uncertain report all along.
 */
function counted(view: LicenseView, report: Report, command: SettleReport, now: Instant): Rebased {
  const meter = view.meter as Meter;
  const { amount, uncertainAt } = report;
  const cloudTotal = uncertainAt === null ? totalWith(view, report, command, now) : meter.cloudTotal;
  const reported = { ...meter, reported: addUp(meter.reported, amount) };
  const isUsable = cloudTotal !== null && isOneWindow(periodOf(view.license, meter.feature), now, now);
  if (isUsable) {
    const { changes, events } = rebase(reported, cloudTotal, now);
    if (changes.length > 0) return { changes, events };
  }
  const { storedInUse: _, ...rest } = reported;
  return { changes: [{ kind: 'put_meter', meter: { ...rest, cloudTotal, cloudAt: now } }], events: [] };
}

/** The cloud's total: at least the last known one plus the report's amount, unless `takesLower`. */
function totalWith(
  { license, meter }: LicenseView,
  { amount }: Report,
  { cloudTotal, takesLower }: SettleReport,
  now: Instant,
): number | null {
  const known = knownTotal(license, meter as Meter, now);
  if (cloudTotal === null || takesLower || known === null) return cloudTotal;
  return Math.max(cloudTotal, known + amount);
}

/** Pending again. If the report was uncertain, the total was the cloud's, without the amount. */
function withdrawn({ storedInUse: _, ...meter }: Meter, { amount, uncertainAt, feature }: Report): Rebased {
  const pending = addUp(meter.pending, amount);
  const before = meter.total;
  const total = uncertainAt === null ? before : Math.max(0, addUp(before, amount));
  const corrected = { kind: 'total_corrected', feature: feature || null, before, total } as const;
  return {
    changes: [{ kind: 'put_meter', meter: { ...meter, pending, total } }],
    events: total === before ? [] : [corrected],
  };
}

/** A report that the cloud refused is pending again, which is no event. */
function settledEvents({ isCounted, by }: SettleReport, report: Report): readonly LicenseEvent[] {
  if (isCounted) return [reportEvent('consumption_reported', report, by)];
  return report.uncertainAt === null ? [] : [reportEvent('report_withdrawn', report, by)];
}

/** Sums stop at the largest exact number, so that the meter can still be read. */
function addUp(before: number, amount: number): number {
  return Math.min(before + amount, LARGEST_AMOUNT);
}

/** The vendor's answer was lost, but its total shows whether the report was counted, if it is known. */
export const resolveReport = {
  ...ON_REPORT,

  decide(command, view, now) {
    const base = collect(view, now);
    const report = findReport(view, command.reportId);
    if (report === undefined || report.uncertainAt !== null) return withoutEffect(view, base, NOTHING_DONE);
    const { cloudTotal } = command;
    const before = knownTotal(view.license, view.meter as Meter, now);
    if (cloudTotal !== null && before === cloudTotal) return withoutEffect(view, base, NOTHING_DONE);
    if (cloudTotal !== null && before !== null && before + report.amount === cloudTotal) {
      const settle = { kind: 'settle_report', isCounted: true, isSure: true, by: 'cloud' } as const;
      return settleReport.decide({ ...command, ...settle }, view, now);
    }
    return markUncertain(command, view, base, report, now);
  },
} satisfies CommandModule<ResolveReport>;
