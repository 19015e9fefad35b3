import type { LicenseCommand } from '../command.ts';
import { decide, moduleOf, withOrigin } from '../decide.ts';
import type { Decision } from '../decision.ts';
import { withHistory } from '../history/record-usage.ts';
import { findFeature } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import { isUsable, type License, type LicenseId } from '../nouns/license.ts';
import { isKnown } from '../nouns/registration.ts';
import type { Refused } from '../outcome.ts';
import { refuseRenewal } from '../refusals.ts';
import type { Candidate, LicenseView } from '../view.ts';
import { newestOf } from './choose-license.ts';
import { collect } from './collect.ts';
import { combineRefusals } from './combine-refusals.ts';
import { freeSlot } from './free-slot.ts';

/** The licenses of a product, for a command that names none of them. */
export interface Pool {
  /** The most recently added first. */
  readonly candidates: readonly Candidate[];
  /** The view of one of them; only asked for those that may answer. */
  viewOf(license: License): LicenseView;
}

/** What is decided on one license of the pool. */
export interface PoolPart {
  readonly licenseId: LicenseId;
  readonly decision: Decision;
}

/** All of it is one commit. */
interface PoolDecision {
  readonly answer: PoolPart;
  /** Changes on other licenses of the pool. */
  readonly others: readonly PoolPart[];
}

/** Tries the licenses of a pool one after the other until one does not refuse. */
export function decidePool(command: LicenseCommand, pool: Pool, now: Instant): PoolDecision {
  const tried: Tried[] = [];
  for (const { license } of joinedFirst(command, pool, orderPool(command, pool.candidates, now))) {
    const view = pool.viewOf(license);
    const decision = decide(command, view, now);
    const { outcome } = decision;
    const part = { licenseId: license.id, decision };
    if (outcome.kind !== 'refused') {
      return { answer: part, others: [...leave(command, tried, now), ...forget(command, part, pool, now)] };
    }
    tried.push({ view, part, refusal: outcome });
    if (SAME_EVERYWHERE.has(outcome.code)) break;
  }
  const answer = refuseAll(command, tried, pool, now);
  return { answer, others: forget(command, answer, pool, now) };
}

interface Tried {
  readonly view: LicenseView;
  readonly part: PoolPart;
  readonly refusal: Refused;
}

/** Refusals that no other license would change. */
const SAME_EVERYWHERE: ReadonlySet<Refused['code']> = new Set(['blacklisted', 'idempotency_key_reused']);

/** The licenses to try, in order; at least one. */
function orderPool(
  command: LicenseCommand,
  candidates: readonly Candidate[],
  now: Instant,
): readonly Candidate[] {
  const answered = candidates.filter(({ hasAnswered }) => hasAnswered);
  const own = candidates.filter(({ holdsSlot }) => holdsSlot);
  const renewable = own.filter(({ license }) => refuseRenewal(license, now) === null);
  const rest = canUseAny(command)
    ? candidates.filter(({ license }) => isUsable(license, now))
    : own.filter((candidate) => !renewable.includes(candidate));
  const order = [...new Set([...answered, ...renewable, ...rest])];
  return order.length > 0 ? order : [newestOf(listAble(command, candidates), now)];
}

/** A program leaves the slot that it has joined, if its user holds several. */
function joinedFirst(command: LicenseCommand, pool: Pool, order: readonly Candidate[]): readonly Candidate[] {
  const instance = command.kind === 'unregister' ? command.instance : undefined;
  if (instance === undefined || order.length === 1) return order;
  const hasJoined = ({ license }: Candidate) =>
    isKnown(pool.viewOf(license).registration?.programs ?? null, instance);
  return [...order.filter(hasJoined), ...order.filter((candidate) => !hasJoined(candidate))];
}

/** Whether any license of the pool will do. If not, the command is about what the user holds. */
function canUseAny(command: LicenseCommand): boolean {
  return moduleOf(command).deny !== undefined;
}

/** A user without a slot is refused for that, and not because a license lacks a feature that another has. */
function listAble(command: LicenseCommand, candidates: readonly Candidate[]): readonly Candidate[] {
  const code = 'feature' in command && !canUseAny(command) ? command.feature : null;
  if (code === null) return candidates;
  const able = candidates.filter(({ license }) => findFeature(license, code) !== undefined);
  return able.length > 0 ? able : candidates;
}

/**
 * A user who borrows from another license than the one they hold gives that slot back. Only a borrow moves: a
 * license that can be renewed refuses no heartbeat.
 */
function leave(command: LicenseCommand, tried: readonly Tried[], now: Instant): readonly PoolPart[] {
  if (command.kind !== 'borrow') return [];
  const { user } = command;
  return tried.flatMap(({ view }) => {
    const base = collect(view, now);
    if (base.held === null) return [];
    const freed = freeSlot(view, base, { kind: 'slot_returned', user, by: null }, now);
    const decision = withOrigin(withHistory(freed, command, view, now), command);
    return [{ licenseId: view.license.id, decision }];
  });
}

/**
 * A user who gives a slot back must not get an old borrow restored: their ended borrows are forgotten on all
 * licenses. See `refuseReturn`.
 */
function forget(command: LicenseCommand, answer: PoolPart, pool: Pool, now: Instant): readonly PoolPart[] {
  const { outcome } = answer.decision;
  const isReturned = outcome.kind !== 'refused' || outcome.code === 'device_not_found';
  if (!isReturned || !moduleOf(command).isReturn) return [];
  const without = pool.candidates.filter(
    ({ license, holdsSlot }) => !holdsSlot && license.id !== answer.licenseId,
  );
  const parts = without.map(({ license }) => {
    return { licenseId: license.id, decision: decide(command, pool.viewOf(license), now) };
  });
  return parts.filter(({ decision }) => decision.changes.length > 0);
}

/**
 * All have refused. If any license would have done, the caller gets one combined refusal, which is recorded
 * once, on the newest usable license.
 */
function refuseAll(command: LicenseCommand, tried: readonly Tried[], pool: Pool, now: Instant): PoolPart {
  const [first] = tried as [Tried];
  const module = moduleOf(command);
  if (module.deny === undefined || first.refusal.code === 'idempotency_key_reused') return first.part;
  const { license } = newestOf(pool.candidates, now);
  const view = pool.viewOf(license);
  if (!isUsable(license, now)) return { licenseId: license.id, decision: decide(command, view, now) };
  const refusal = combineRefusals(
    command,
    license.product,
    tried.map((one) => one.refusal),
  );
  const denied = module.deny(command, view, collect(view, now), refusal, now);
  const decision = withOrigin(withHistory(denied, command, view, now), command);
  return { licenseId: license.id, decision };
}
