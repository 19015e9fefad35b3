import { isResettable } from '../../core/clock/clock.ts';
import { decide, subjectOf } from '../../core/decide.ts';
import type { Restoration } from '../../core/decision.ts';
import { BORROW_TOLERANCE_MS } from '../../core/lending/borrow-until.ts';
import { featureHeartbeatEnd, isFloating } from '../../core/nouns/feature-slot.ts';
import { HOUR_MS, type Instant, plus } from '../../core/nouns/instant.ts';
import { clampTie, heartbeatEnd, type License, type LicenseId } from '../../core/nouns/license.ts';
import { chooseResetTime } from '../../core/system/clock.ts';
import type { ResetFacts } from '../../core/system-module.ts';
import { applyDecision } from './apply/apply.ts';
import type { Batch } from './batch.ts';
import { loadView } from './load/load-view.ts';
import type { LoadedLicense } from './loaded-licenses.ts';
import { listRestorable } from './restore-borrows.ts';

/**
 * Nobody could send a heartbeat since then: the server was down, or follows a clock that is ahead. Slots
 * that were live then get a whole timeout. Ended ones stay ended, and borrows keep their date.
 */
export function extendLiveSlots(
  { statements, licenses, now }: Batch,
  since: Instant | ((id: LicenseId) => Instant),
): void {
  for (const { license } of licenses.entries()) {
    const { id } = license;
    const mark = typeof since === 'number' ? since : since(id);
    statements.extendLiveSlots.run({ id, mark, floor: heartbeatEnd(license, now) });
    for (const feature of license.features.filter(isFloating)) {
      const floor = featureHeartbeatEnd(license, feature, now);
      statements.extendLiveFeatures.run({ id, feature: feature.code, mark, floor });
    }
  }
}

/** Collects ended slots first, because ended borrows may be restored. */
export function loadReset(batch: Batch): ResetFacts {
  const to = chooseResetTime(batch.clock.wall, listLicenses(batch));
  if (!isResettable(batch.now, to)) return { to, licenses: [] };
  for (const entry of batch.licenses.entries()) collectAll(batch, entry);
  return { to, licenses: listRestorable(batch, to) };
}

/** Removed ones included. */
export function listLicenses({ licenses }: Batch): readonly License[] {
  return [...licenses.entries()].map(({ license }) => license);
}

function collectAll(batch: Batch, entry: LoadedLicense): void {
  const command = { kind: 'collect', licenseId: entry.license.id } as const;
  for (;;) {
    const decision = decide(command, loadView(batch, entry, command, subjectOf(command)), batch.now);
    applyDecision(batch, entry, decision);
    if (decision.changes.length === 0) return;
  }
}

export function restoreBorrows(batch: Batch, { licenseId, changes, events, history }: Restoration): void {
  const outcome = { kind: 'done', count: 1 } as const;
  applyDecision(batch, entryOf(batch, licenseId), { outcome, changes, events, history });
}

export function putTie(batch: Batch, license: License): void {
  batch.statements.updateFacts.run(JSON.stringify(license), license.id);
  batch.licenses.replaceLicense(entryOf(batch, license.id), license);
}

function entryOf({ licenses }: Batch, id: LicenseId): LoadedLicense {
  return (licenses.find(id) ?? licenses.findRemoved(id)) as LoadedLicense;
}

export function clampFutureTimes(batch: Batch, from: Instant): void {
  for (const entry of batch.licenses.entries()) clampLicense(batch, entry, from);
  clampRest(batch);
  batch.clampsHistory = true;
}

/** Moves all other dates back: nothing happened later than now. */
function clampRest({ statements, now }: Batch): void {
  statements.removeSettledBorrows.run({ now });
  statements.clampEndedBorrows.run({ now });
  statements.clampDenials.run({ now });
  statements.clampPlaceDenials.run({ now });
  statements.clampTokens.run({ now });
  statements.clampOneTimePasswords.run({ now });
  statements.clampAnswers.run({ now });
  statements.clampRules.run({ now });
  statements.clampBars.run({ now });
  statements.clampSettings.run({ now });
}

/** Live slots get one timeout. A borrow stays if its date is ahead and could be chosen now. */
function clampLicense(batch: Batch, entry: LoadedLicense, from: Instant): void {
  const license = clampTie(entry.license, batch.now);
  if (license !== entry.license) putTie(batch, license);
  batch.statements.clampLive.run({
    id: license.id,
    from,
    now: batch.now,
    heartbeatEnd: heartbeatEnd(license, batch.now),
    ...borrowBounds(batch.now, license.maxBorrowHours),
  });
  for (const feature of license.features.filter(isFloating)) {
    batch.statements.clampFeatures.run({
      id: license.id,
      feature: feature.code,
      from,
      now: batch.now,
      heartbeatEnd: featureHeartbeatEnd(license, feature, batch.now),
      ...borrowBounds(batch.now, feature.floating.maxBorrowHours),
    });
  }
  Object.assign(entry, { noEndBefore: 0, noFeatureEndBefore: 0, totals: null });
}

function borrowBounds(now: Instant, maxBorrowHours: number) {
  const borrowCap = plus(now, maxBorrowHours * HOUR_MS);
  return { borrowCap, latestDate: plus(borrowCap, BORROW_TOLERANCE_MS) };
}
