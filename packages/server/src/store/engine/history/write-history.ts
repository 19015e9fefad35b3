import { GRAINS, MONTH_GRAIN, monthStart } from '../../../core/history/grain.ts';
import { coarserStart, type HistoryStep } from '../../../core/history/thinning.ts';
import { bucketStart, DAY_MS, type Instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { LoadedLicenses } from '../loaded-licenses.ts';
import type { Statements } from '../statements.ts';

/** One step of thinning, see `HistoryStep`. */
export function thinHistory(statements: Statements, id: LicenseId, step: HistoryStep): void {
  const { part, from, to } = step;
  if (part === 'old') {
    forgetOld(statements, id, to);
    return;
  }
  const at = coarserStart(step);
  const range = { id, from, to, grain: part === 'minutes' ? GRAINS.minute : GRAINS.hour };
  const into = part === 'minutes' ? GRAINS.hour : GRAINS.day;
  if (part === 'days') {
    statements.foldPersonHistory.run({ ...range, grain: GRAINS.day, into: MONTH_GRAIN, at });
    statements.removePersonHistory.run({ ...range, grain: GRAINS.day });
    return;
  }
  statements.foldSlotHistory.run({ ...range, into, at });
  statements.removeSlotHistory.run(range);
  statements.foldDenialHistory.run({ ...range, into, at });
  statements.removeDenialHistory.run(range);
}

function forgetOld(statements: Statements, id: LicenseId, to: Instant): void {
  statements.sumOldSlotHistory.run({ id, to });
  statements.removeOldSlotHistory.run({ id, to });
  statements.removeOldPersonHistory.run({ id, to, month: monthStart(to) });
  statements.removeOldDenialHistory.run({ id, to });
  statements.removeOldConsumptionHistory.run({ id, to });
  statements.removeOldDurationHistory.run({ id, to });
  statements.removeOldWaitHistory.run({ id, to });
}

/** Adds what is known of a user to what is known of others. */
export function forgetUser(statements: Statements, licenses: LoadedLicenses, user: string): void {
  for (const { license } of licenses.entries()) {
    const named = { id: license.id, user };
    statements.forgetPersonHistory.run(named);
    statements.removeNamedPersonHistory.run(named);
    statements.forgetDenialHistory.run(named);
    statements.removeNamedDenialHistory.run(named);
  }
}

/**
 * The clock went back: what was recorded later than now happened now, and the numbers in use become those of
 * the slots. Everything that this commit records must be written before.
 */
export function clampHistory(statements: Statements, now: Instant): void {
  const times = { now, minute: bucketStart(now, MINUTE_MS), day: bucketStart(now, DAY_MS) };
  const { minute, day } = times;
  statements.clampSlotHistory.run({ now, minute });
  statements.removeLaterSlotHistory.run({ minute });
  statements.squareSlotHistory.run({ minute });
  statements.clampPersonHistory.run({ now, day });
  statements.removeLaterPersonHistory.run({ day });
  statements.clampPersons.run({ now });
  statements.clampDenialHistory.run({ now, minute });
  statements.removeLaterDenialHistory.run({ minute });
  statements.clampDenialTimes.run({ now });
  statements.clampConsumptionHistory.run({ day });
  statements.removeLaterConsumptionHistory.run({ day });
  statements.clampDurationHistory.run({ day });
  statements.removeLaterDurationHistory.run({ day });
  statements.clampWaitHistory.run({ day });
  statements.removeLaterWaitHistory.run({ day });
}
