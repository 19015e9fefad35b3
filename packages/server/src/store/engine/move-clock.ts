import type { Actor } from '../../core/actor.ts';
import { isResettable } from '../../core/clock.ts';
import { type Done, type Refused, refuse } from '../../core/decision.ts';
import { featureHeartbeatEnd, isFloating } from '../../core/feature-slot.ts';
import { HOUR_MS, type Instant, instant, later, plus, say } from '../../core/instant.ts';
import { heartbeatEnd, type LicenseId, pullBackTie } from '../../core/license.ts';
import { eventText } from './audit-chain.ts';
import { type Batch, decideOn, write } from './execute-command.ts';
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
 * Goes back to the wall clock after a wrong one has driven the server's time ahead. What had ended by the
 * wrong time stays ended; what is live gets one full timeout from the new time, and no borrow reaches further
 * than one made now.
 */
export function resetClock(batch: Batch, by: Actor): Done | Refused {
  const from = batch.now;
  const to = later(batch.clock.readWall(), newestVendorWord(batch));
  if (!isResettable(from, to)) {
    return refuse('clock_not_poisoned', `The server's time ${say(from)} is not ahead of the wall clock.`);
  }
  batch.systemEvents.push(eventText({ kind: 'clock_reset', from, to, by }));
  for (const entry of batch.shelf.entries()) collectAll(batch, entry);
  moveTo(batch, to);
  for (const entry of batch.shelf.entries()) pullBack(batch, entry, from);
  batch.statements.pullBackDenials.run({ now: to });
  batch.statements.pullBackPlaceDenials.run({ now: to });
  batch.statements.pullBackTokens.run({ now: to });
  batch.statements.pullBackOneTimePasswords.run({ now: to });
  batch.statements.pullBackAnswers.run({ now: to });
  batch.statements.pullBackRules.run({ now: to });
  return { kind: 'done', count: 1 };
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

/** A borrow that had ended by the wrong time is over, even where heartbeats have kept its slot. */
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
    borrowCap: plus(batch.now, license.maxBorrowHours * HOUR_MS),
  });
  for (const feature of license.features.filter(isFloating)) {
    batch.statements.pullBackFeatures.run({
      id: license.id,
      feature: feature.code,
      from,
      now: batch.now,
      heartbeatEnd: featureHeartbeatEnd(license, feature, batch.now),
      borrowCap: plus(batch.now, feature.floating.maxBorrowHours * HOUR_MS),
    });
  }
  Object.assign(entry, { noEndBefore: 0, noFeatureEndBefore: 0, standing: null });
}
