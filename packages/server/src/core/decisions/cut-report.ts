import type { CutReport, ResolveReport, SettleReport } from '../command.ts';
import type { Decision } from '../decision.ts';
import {
  isOneWindow,
  knownTotal,
  listUnderWay,
  periodOf,
  type Rebased,
  rebase,
} from '../lending/cloud-total.ts';
import { type Collected, collect, collectedChanges } from '../lending/collect.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { LARGEST_AMOUNT, type Meter, WHOLE_LICENSE, windowStart } from '../nouns/consumption.ts';
import type { Instant } from '../nouns/instant.ts';
import type { LicenseView, Report } from '../view.ts';
import { withoutEffect } from './unregister.ts';

/**
 * How consumption reaches the vendor. What is counted is *pending* from the same commit on. A report is
 * *cut*: all that is pending goes under one id, in one commit, before anything is sent; a meter has one
 * report at a time. The vendor's answer *settles* it. Whoever did not hear the answer sends the same report
 * again where the vendor counts an id only once. Where it does not, the vendor's total is looked at: moved by
 * exactly the amount, it was counted; unmoved, it was not, and the report is sent again; anything else, and
 * the report is *uncertain*: it is put aside until a person settles it, and what is counted from then on is
 * reported without it. An amount is thus never counted twice.
 */

/** Takes everything that is pending and puts it under an id. A repeated cut takes nothing. */
export function decideCutReport(command: CutReport, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { storedInUse: _, ...meter } = view.meter as Meter;
  const isUnderWay = listUnderWay(view).some(({ feature }) => feature === meter.feature);
  if (isUnderWay || meter.pending === 0) return withoutEffect(view, base, { kind: 'done', count: 0 });
  const { feature, pending: amount } = meter;
  return {
    outcome: { kind: 'done', count: amount },
    changes: [
      ...collectedChanges(view, base),
      { kind: 'put_meter', meter: { ...meter, pending: 0 } },
      {
        kind: 'add_report',
        report: { id: command.reportId, feature, amount, cutAt: now, uncertainAt: null },
      },
    ],
    events: base.events,
  };
}

/**
 * The report's amount is reported, or pending again. Settling it twice changes nothing. An answer that is not
 * bound to its request, or to a repeated one, settles it only if its total can hold it. Otherwise the report
 * stays where it is; but if the answer repeats its id, that id is used up, for another amount or before a
 * total was lowered: then sending it again tells nothing, and it is uncertain.
 */
export function decideSettleReport(command: SettleReport, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const report = findReport(view, command.reportId);
  if (report === undefined) return withoutEffect(view, base, NOTHING_DONE);
  if (!command.isSure && !canHold(command, report, view, now)) {
    const isUsedUp = command.isEchoed === true && report.uncertainAt === null;
    return isUsedUp ? putAside(command, view, base, report, now) : withoutEffect(view, base, NOTHING_DONE);
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
    events: [...base.events, ...tellSettled(command, report), ...settled.events],
  };
}

/**
 * In a window that the cloud has told nothing of, it has counted nothing but reports. One that was cut in an
 * earlier window may have been counted in that: then nothing but its id can tell.
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

/** Nobody heard the vendor's answer, but its total tells: counted, not counted, or nobody knows. */
export function decideResolveReport(command: ResolveReport, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const report = findReport(view, command.reportId);
  if (report === undefined || report.uncertainAt !== null) return withoutEffect(view, base, NOTHING_DONE);
  const { cloudTotal } = command;
  const before = knownTotal(view.license, view.meter as Meter, now);
  if (cloudTotal !== null && before === cloudTotal) return withoutEffect(view, base, NOTHING_DONE);
  if (cloudTotal !== null && before !== null && before + report.amount === cloudTotal) {
    const settle = { kind: 'settle_report', isCounted: true, isSure: true, by: 'cloud' } as const;
    return decideSettleReport({ ...command, ...settle }, view, now);
  }
  return putAside(command, view, base, report, now);
}

const NOTHING_DONE = { kind: 'done', count: 0 } as const;

/**
 * Whatever became of it, it is over: the cloud's total is what further reports are measured by, unless it may
 * be an old one.
 */
function putAside(
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
    events: [...base.events, tell('report_uncertain', report, 'cloud'), ...rebased.events],
  };
}

function findReport(view: LicenseView, id: string): Report | undefined {
  return view.reports.find((report) => report.id === id);
}

/**
 * The cloud's total holds the report now. What it was before is forgotten where the cloud did not say; only
 * an uncertain report was in it all along.
 */
function counted(view: LicenseView, report: Report, told: SettleReport, now: Instant): Rebased {
  const meter = view.meter as Meter;
  const { amount, uncertainAt } = report;
  const cloudTotal = uncertainAt === null ? totalWith(view, report, told, now) : meter.cloudTotal;
  const reported = { ...meter, reported: addUp(meter.reported, amount) };
  const isUsable = cloudTotal !== null && isOneWindow(periodOf(view.license, meter.feature), now, now);
  if (isUsable) {
    const { changes, events } = rebase(reported, cloudTotal, now);
    if (changes.length > 0) return { changes, events };
  }
  const { storedInUse: _, ...rest } = reported;
  return { changes: [{ kind: 'put_meter', meter: { ...rest, cloudTotal, cloudAt: now } }], events: [] };
}

/** The cloud's total with the report. One that is too low for that is old, unless it certainly is not. */
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

/** Pending again. The total of a meter whose report was uncertain was the cloud's, without the amount. */
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

/** That the cloud refused a report, which is then pending again, is no news: nothing has happened. */
function tellSettled({ isCounted, by }: SettleReport, report: Report): readonly LicenseEvent[] {
  if (isCounted) return [tell('consumption_reported', report, by)];
  return report.uncertainAt === null ? [] : [tell('report_withdrawn', report, by)];
}

function tell(
  kind: 'consumption_reported' | 'report_uncertain' | 'report_withdrawn',
  { id, feature, amount }: Report,
  by: Actor,
) {
  return { kind, feature: feature === WHOLE_LICENSE ? null : feature, amount, reportId: id, by } as const;
}

/** An amount that no number can tell any more stays the largest one, so that the meter can still be read. */
function addUp(before: number, amount: number): number {
  return Math.min(before + amount, LARGEST_AMOUNT);
}
