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
  isAnswered,
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
  withAnswer,
  withoutAnswer,
} from '../../../core/lending/waiting-line.ts';
import { type Instant, plus } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { Outcome, PlaceKey, Refused } from '../../../core/outcome.ts';
import type { Executed } from '../../store.ts';
import type { Batch } from '../batch.ts';
import { type FindKept, type Kept, NOTHING_KEPT } from '../load/read-holdings.ts';
import type { LoadedLicense } from '../loaded-licenses.ts';
import { goAlong, type TryOut } from './keep-slots.ts';
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
  tryOut: TryOut,
  decide: (isCarriedOut?: (outcome: Outcome) => boolean, findKept?: FindKept) => Executed,
): Executed {
  if (!isLending(command)) return decide();
  let kept: Kept | undefined;
  const findKept = () => {
    kept ??= keepSlots(batch, entries, command, tryOut);
    return kept;
  };
  if (isCarriedOut !== undefined) return decide(isCarriedOut, findKept);
  const outcome = decide((decided) => !goesOnWaiting(command, decided), findKept);
  return followLine(batch, entries, command, outcome);
}

/** Those who repeat the call and come first are kept their slots. */
function keepSlots(batch: Batch, entries: readonly LoadedLicense[], command: Lending, tryOut: TryOut): Kept {
  const { line } = batch;
  const { product } = (entries[0] as LoadedLicense).license;
  const row = line.repeating === 0 ? undefined : line.findRow(product, wantedOf(command));
  if (row === undefined) return NOTHING_KEPT;
  return goAlong(batch, row, findRoom(batch, row), tryOut, ({ user }) => user === command.user).kept;
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
    if (found !== undefined) followAnswer(batch, found, wait, outcome);
    return outcome;
  }
  if (wait === undefined) return outcome;
  if (found !== known && found !== undefined) recordWait(batch, found, null);
  const server = wait.mode === 'repeat' ? REPEATS : line.server;
  const { wait: _, ...asked } = command as Waitable;
  line.put({
    ...key,
    n: known === undefined || isAnswered(known) ? line.nextN() : known.n,
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

/** Somebody in line has an answer other than that no slot is free: mostly, their wait is over. */
function followAnswer(batch: Batch, place: Place, wait: Wait | undefined, outcome: Executed): void {
  const { line, now } = batch;
  const lender = lenderOf(outcome);
  const isOther = lender !== null && place.lentBy !== null && lender !== place.lentBy;
  const isOver = !isOther && endsWait(place, wait !== undefined, outcome);
  if (isOver) recordWait(batch, place, lender);
  if (lender !== null && wait?.hasWaited) line.put(withAnswer(place, lender, line.server, isOver, now));
  else if (isOver) line.remove(place);
  // Whoever did not wait keeps the slot, whoever else is gone.
  else if (lender !== null) line.put(withoutAnswer(place, lender) ?? place);
  if (isOver && place.lentBy === null && !isGone(place, now)) line.call(place);
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
  const { unseen } = command;
  const place = line.find(command);
  if (place === undefined) return null;
  const left =
    unseen === undefined
      ? { ...place, presence: { ...place.presence, [line.server]: now } }
      : withoutAnswer(place, unseen, line.server);
  const lender = unseen ?? place.lentBy;
  if (left === null) return null;
  const waits = place.lentBy === lender && isPresent(left, now, line.isAlive);
  if (lender === null || waits || isAnswered(left, lender)) {
    line.put(left);
    return null;
  }
  if (left.lentBy === null) line.put(left);
  else line.remove(place);
  return giveBack(command, lender, place);
}

export function giveBack({ user, feature }: PlaceKey, licenseId: LicenseId, { command: { by } }: Place) {
  const asked = { product: null, licenseId, user, ...(by === undefined ? {} : { by }) };
  return feature === ''
    ? ({ kind: 'unregister', ...asked } as const)
    : ({ kind: 'release_feature', ...asked, feature } as const);
}
