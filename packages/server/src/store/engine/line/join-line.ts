import type {
  Borrow,
  LeaveLine,
  LicenseCommand,
  Register,
  RegisterFeature,
  Wait,
} from '../../../core/command.ts';
import {
  canWait,
  endsWait,
  isGone,
  isPresent,
  LATE_MS,
  lenderOf,
  obstacleOf,
  type Place,
  priorityOf,
  REPEATS,
  type Waitable,
  wantedOf,
} from '../../../core/lending/waiting-line.ts';
import { type Instant, plus } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { Outcome, PlaceKey, Refused } from '../../../core/outcome.ts';
import type { Executed } from '../../store.ts';
import type { Batch } from '../batch.ts';
import type { LoadedLicense } from '../loaded-licenses.ts';
import { recordWait } from './record-wait.ts';
import { findRoom } from './room.ts';

type Lending = Register | Borrow | RegisterFeature;

function isLending(command: LicenseCommand): command is Lending {
  return command.kind === 'register' || command.kind === 'borrow' || command.kind === 'register_feature';
}

function waitOf(command: Lending): Wait | undefined {
  return command.kind === 'borrow' ? undefined : command.wait;
}

/**
 * Decides while somebody waits, or a command that would wait. `isCarriedOut`: given for a command of
 * somebody in the line, whose place is looked after by who serves it.
 */
export function decideInLine(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: LicenseCommand,
  isCarriedOut: ((outcome: Outcome) => boolean) | undefined,
  decide: (isCarriedOut?: (outcome: Outcome) => boolean) => Executed,
): Executed {
  if (!isLending(command)) return decide();
  const kept = keepSlots(batch, entries, command);
  try {
    if (isCarriedOut !== undefined) return decide(isCarriedOut);
    const outcome = decide((decided) => !goesOnWaiting(command, decided));
    return followLine(batch, entries, command, outcome);
  } finally {
    for (const entry of kept) entry.kept = 0;
  }
}

/** Those who repeat the call and come first are kept their slots; returns the licenses that have them. */
function keepSlots(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: Lending,
): readonly LoadedLicense[] {
  const { line, now } = batch;
  if (line.repeating === 0) return [];
  const { product } = (entries[0] as LoadedLicense).license;
  const wanted = { product, feature: wantedOf(command) };
  let left = line.countKeptBefore({ ...wanted, user: command.user }, now);
  const room = findRoom(batch, wanted);
  return entries.filter((entry) => {
    entry.kept = Math.min(left, room.get(entry.license.id) ?? 0);
    left -= entry.kept;
    return entry.kept > 0;
  });
}

/** Whether the request goes on waiting: then its refusal is not carried out, and is no denial. */
function goesOnWaiting(command: Lending, outcome: Outcome): boolean {
  return waitOf(command)?.mode === 'stay' && outcome.kind === 'refused' && canWait(outcome);
}

/** Notes in the line what became of a request for a slot, and answers those who wait. */
function followLine(
  batch: Batch,
  entries: readonly LoadedLicense[],
  command: Lending,
  outcome: Executed,
): Executed {
  const { line, rules, now } = batch;
  const { license } = entries[0] as LoadedLicense;
  const key = { product: license.product, feature: wantedOf(command), user: command.user };
  const found = line.find(key);
  const known = found === undefined || isGone(found, now) ? undefined : found;
  const wait = waitOf(command);
  if (outcome.kind !== 'refused' || !canWait(outcome)) {
    if (found === undefined || !endsWait(found, wait !== undefined, outcome)) return outcome;
    recordWait(batch, found, lenderOf(outcome));
    line.remove(key);
    if (known?.lentBy === null) line.call(known);
    return outcome;
  }
  if (wait === undefined) return outcome;
  if (found !== known && found !== undefined) recordWait(batch, found, null);
  const server = wait.mode === 'repeat' ? REPEATS : line.server;
  const { wait: _, ...asked } = command as Waitable;
  line.put({
    ...key,
    n: known?.n ?? line.nextN(),
    // A wait that got a slot was recorded; if that was taken back before they knew, another one begins.
    since: known?.lentBy === null ? known.since : now,
    priority: priorityOf(rules, license.product, asked, now),
    command: asked,
    presence: { ...known?.presence, [server]: presentUntil(wait, now) },
    lentBy: null,
    ...obstacleOf(outcome),
  });
  if (wait.mode === 'repeat') return outcome;
  if (wait.mode === 'last') return withPosition(outcome, line.list(key), key);
  return {
    kind: 'waiting',
    ...key,
    nextEndAt: (outcome.details.nextFreeAt as Instant | undefined) ?? null,
    now,
  };
}

function presentUntil({ mode, forMs }: Wait, now: Instant): Instant {
  return forMs === 0 || mode === 'repeat' ? plus(now, forMs) : plus(now, forMs + LATE_MS);
}

function withPosition(refusal: Refused, places: readonly Place[], { user }: PlaceKey): Refused {
  const waiting = places.filter(({ lentBy }) => lentBy === null);
  const position = waiting.findIndex((place) => place.user === user) + 1;
  return { ...refusal, details: { ...refusal.details, position, waiting: waiting.length } };
}

/** Somebody no longer waits. Returns the command that gives back what was lent to them unseen, if any. */
export function leaveLine(batch: Batch, command: LeaveLine): LicenseCommand | null {
  const { line, now } = batch;
  const place = line.find(command);
  const { unseen } = command;
  if (unseen !== undefined)
    return isUnused(batch, command) ? giveBack(command, unseen.licenseId, place) : null;
  if (place === undefined) return null;
  const left = { ...place, presence: { ...place.presence, [line.server]: now } };
  if (place.lentBy === null || isPresent(left, now, line.isAlive)) {
    line.put(left);
    return null;
  }
  line.remove(place);
  return giveBack(command, place.lentBy, place);
}

/** Whether nobody has used the slot since it was lent. */
function isUnused({ statements }: Batch, { user, feature, unseen }: LeaveLine): boolean {
  if (unseen === undefined) return false;
  const { licenseId, registeredAt, endsAt } = unseen;
  const key = { license_id: licenseId, user };
  const row =
    feature === '' ? statements.registration.find(key) : statements.feature_slot.find({ ...key, feature });
  return row?.registered_at === registeredAt && row.ends_at === endsAt;
}

function giveBack({ user, feature }: LeaveLine, licenseId: LicenseId, place: Place | undefined) {
  const by = place?.command.by;
  const asked = { product: null, licenseId, user, ...(by === undefined ? {} : { by }) };
  return feature === ''
    ? ({ kind: 'unregister', ...asked } as const)
    : ({ kind: 'release_feature', ...asked, feature } as const);
}
