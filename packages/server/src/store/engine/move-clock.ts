import { isResettable } from '../../core/clock/clock.ts';
import { BORROW_TOLERANCE_MS } from '../../core/lending/borrow-until.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { LostBorrow } from '../../core/nouns/ended-borrow.ts';
import { featureHeartbeatEnd, isFloating } from '../../core/nouns/feature-slot.ts';
import { HOUR_MS, type Instant, instant, later, plus, say } from '../../core/nouns/instant.ts';
import { heartbeatEnd, type LicenseId, pullBackTie } from '../../core/nouns/license.ts';
import { type ClockReset, type Done, type Refused, refuse } from '../../core/outcome.ts';
import type { ResetClock } from '../../core/system-command.ts';
import { eventText } from './audit/audit-chain.ts';
import { type Batch, decideOn, write } from './execute-command.ts';
import { planRestoration } from './restore-borrows.ts';
import type { ShelfEntry } from './shelf.ts';

/**
 * Nobody could send a heartbeat since then: the server was down, or follows a clock that is ahead. Slots
 * that were live then have a whole timeout ahead of them afterwards. Ended ones are left ended, borrows
 * keep their date.
 */
export function prolongLive(
  { statements, shelf, now }: Batch,
  since: Instant | ((id: LicenseId) => Instant),
): void {
  for (const { license } of shelf.entries()) {
    const { id } = license;
    const mark = typeof since === 'number' ? since : since(id);
    statements.prolongLive.run({ id, mark, floor: heartbeatEnd(license, now) });
    for (const feature of license.features.filter(isFloating)) {
      const floor = featureHeartbeatEnd(license, feature, now);
      statements.prolongLiveFeatures.run({ id, feature: feature.code, mark, floor });
    }
  }
}

/** Follows a wall clock that is ahead. */
export function acceptClock(batch: Batch, by: Actor): Done | Refused {
  const { clock } = batch;
  const from = batch.now;
  const to = clock.readWall();
  if (clock.jump?.direction !== 'ahead' || to <= from) {
    return refuse('clock_not_ahead', "The wall clock is not ahead of the server's time: nothing to accept.");
  }
  batch.systemEvents.push(eventText({ kind: 'clock_accepted', from, to, by }));
  moveTo(batch, to);
  prolongLive(batch, from);
  return { kind: 'done', count: 1 };
}

/**
 * Goes back to the wall clock after a wrong one has driven the server's time ahead. Slots that had ended
 * stay ended, except for borrows whose date is ahead again; live ones get one full timeout from the new time,
 * and no borrow reaches further than one made now.
 */
export function resetClock(batch: Batch, { mode = 'careful', by }: ResetClock): ClockReset | Refused {
  const from = batch.now;
  const to = later(batch.clock.readWall(), newestVendorWord(batch));
  if (!isResettable(from, to)) {
    return refuse('clock_not_poisoned', `The server's time ${say(from)} is not ahead of the wall clock.`);
  }
  for (const entry of batch.shelf.entries()) collectAll(batch, entry);
  const plan = planRestoration(batch, to, by);
  const restored = plan.flatMap(({ restoration }) => restoration.restored);
  const lost = plan.flatMap(({ restoration }) => restoration.lost);
  if (mode === 'careful' && lost.length > 0) return refuseLosses(lost);
  const outcome = { kind: 'clock_reset', restored, lost } as const;
  if (mode === 'trial') return outcome;
  batch.systemEvents.push(eventText({ kind: 'clock_reset', from, to, by }));
  moveTo(batch, to);
  for (const { entry, restoration } of plan) write(batch, entry, { outcome, ...restoration });
  for (const entry of batch.shelf.entries()) pullBack(batch, entry, from);
  pullBackRest(batch);
  return outcome;
}

/** So many are named in an answer. */
const NAMED_LOSSES = 1000;

function refuseLosses(lost: readonly LostBorrow[]): Refused {
  const some = lost.length === 1 ? '1 borrow' : `${lost.length} borrows`;
  return refuse(
    'borrows_not_restorable',
    `A wrong clock ended ${some} that cannot be restored. Nothing was changed.`,
    { count: lost.length, borrows: lost.slice(0, NAMED_LOSSES) },
  );
}

/** Nothing that is not about one license happened later than now either. */
function pullBackRest({ statements, now }: Batch): void {
  statements.removeSettledBorrows.run({ now });
  statements.pullBackEndedBorrows.run({ now });
  statements.pullBackDenials.run({ now });
  statements.pullBackPlaceDenials.run({ now });
  statements.pullBackTokens.run({ now });
  statements.pullBackOneTimePasswords.run({ now });
  statements.pullBackAnswers.run({ now });
  statements.pullBackRules.run({ now });
}

/** The vendor's files are dated and signed: it is certainly not earlier than the newest of them. */
function newestVendorWord({ shelf }: Batch): Instant {
  const dates = [...shelf.entries()].map(({ license }) => license.tie.fileAt ?? 0);
  return instant(Math.max(0, ...dates));
}

function moveTo(batch: Batch, to: Instant): void {
  batch.clock.moveTo(to);
  batch.now = to;
  batch.isChanged = true;
}

function collectAll(batch: Batch, entry: ShelfEntry): void {
  const command = { kind: 'collect', licenseId: entry.license.id } as const;
  for (;;) {
    const decision = decideOn(batch, entry, command);
    write(batch, entry, decision);
    if (decision.changes.length === 0) return;
  }
}

/** What is live gets one timeout; its borrow stays if its date is ahead and could be chosen now. */
function pullBack(batch: Batch, entry: ShelfEntry, from: Instant): void {
  const license = pullBackTie(entry.license, batch.now);
  if (license !== entry.license) {
    batch.statements.updateFacts.run(JSON.stringify(license), license.id);
    batch.shelf.replaceLicense(entry, license);
  }
  batch.statements.pullBackLive.run({
    id: license.id,
    from,
    now: batch.now,
    heartbeatEnd: heartbeatEnd(license, batch.now),
    ...borrowBounds(batch.now, license.maxBorrowHours),
  });
  for (const feature of license.features.filter(isFloating)) {
    batch.statements.pullBackFeatures.run({
      id: license.id,
      feature: feature.code,
      from,
      now: batch.now,
      heartbeatEnd: featureHeartbeatEnd(license, feature, batch.now),
      ...borrowBounds(batch.now, feature.floating.maxBorrowHours),
    });
  }
  Object.assign(entry, { noEndBefore: 0, noFeatureEndBefore: 0, standing: null });
}

function borrowBounds(now: Instant, maxBorrowHours: number) {
  const borrowCap = plus(now, maxBorrowHours * HOUR_MS);
  return { borrowCap, latestDate: plus(borrowCap, BORROW_TOLERANCE_MS) };
}
