import { HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { BorrowRules } from '@berth/server/core/rules/rule-set';
import type { Lacking } from './fair-rules.ts';
import { cut, GIVEN_BACK, later, leaveHeld, withProgram } from './held.ts';
import { type Expected, LicensesModel, type ModelLicense } from './licenses-model.ts';
import { type Refusal, refuse, refuseFull, sumUp } from './model-refusals.ts';
import {
  countsAlike,
  findBorrowRules,
  isKeptOut,
  isMember,
  mayLend,
  networkOf,
  type Person,
  type Place,
  refuseByLimit,
  refuseByReservation,
  refuseKept,
} from './naive-rules.ts';

/** The longest that any of the licenses allows. */
export const MAX_BORROW_MS = 24 * HOUR_MS;
export const SHORT_BORROW_MS = 2 * HOUR_MS;
export const TOLERANCE_MS = 5 * MINUTE_MS;

/** What requests say that say nothing else. */
export const SOMEWHERE: Place = { hostname: 'host-1', address: null };

/** Who asks, with the program that they use; `null`: one without a name. */
interface Caller extends Person {
  readonly instance: string | null;
}

/** What requests get. */
export class LendingModel extends LicensesModel {
  /** Who was refused for lack of a slot in this step, whatever license they get. */
  lacking: Lacking[] = [];

  register(
    user: string,
    id: LicenseId | null,
    at: Place = SOMEWHERE,
    instance: string | null = null,
  ): Expected {
    const caller = { user, at, instance };
    const answer = this.#take(user, id, (license) => this.#tryRegister(license, caller));
    const isLack = answer.kind === 'refused' && answer.code === 'floating_not_available';
    if (id === null && isLack && answer.details?.limit === undefined) {
      const isReserved = answer.details?.reservedFor !== undefined;
      this.lacking.push({ who: { user, at }, isReserved, ...this.holdings(null) });
    }
    return answer;
  }

  borrow(
    user: string,
    id: LicenseId | null,
    until: Instant | 'longest' | 'unreadable',
    at: Place = SOMEWHERE,
    instance: string | null = null,
  ): Expected {
    const before = this.renewable(user);
    const caller = { user, at, instance };
    const attempt = (license: ModelLicense) => this.#tryBorrow(license, caller, until, id === null);
    const answer = this.#take(user, id, attempt);
    if (id === null && answer.kind === 'granted') this.#leave(user, before, answer.licenseId);
    return answer;
  }

  /** Whoever had to go on to another license has left the ones that were asked before it. */
  #leave(user: string, before: readonly ModelLicense[], to: LicenseId): void {
    for (const { id, holders } of before) {
      if (id === to) return;
      holders.delete(user);
    }
  }

  #tryRegister(license: ModelLicense, who: Caller): Expected {
    const { user } = who;
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(who);
    if (refusal !== null) return refuse(refusal);
    const missing = held === undefined ? this.#refuseNew(license, who, []) : null;
    if (missing !== null) return missing;
    return this.#hold(license, who, held?.borrowedUntil ?? null, []);
  }

  /** The license of which a slot is free for one who asks. */
  protected findLender(who: Person, id: LicenseId | null): ModelLicense | undefined {
    if (this.refuseBarred(who) !== null) return undefined;
    return this.licenses.find((license) => {
      if ((id !== null && license.id !== id) || !this.isUsable(license)) return false;
      return !license.holders.has(who.user) && this.#refuseNew(license, who, []) === null;
    });
  }

  /** For one who holds no slot of the license. */
  #refuseNew(license: ModelLicense, who: Person, left: readonly ModelLicense[]): Refusal | null {
    const own = this.rules.products.cad;
    const holdings = this.holdings(null, who.user, left);
    const limited = own === undefined ? null : refuseByLimit(this.rules, own, holdings, who, this.now);
    if (limited !== null) return limited;
    const taken = license.holders.size + this.keptOn(license.id, '').length;
    if (taken >= license.facts.slots) return refuseFull(license, false);
    return own === undefined ? null : refuseByReservation(this.rules, own, holdings, who, this.now);
  }

  #tryBorrow(
    license: ModelLicense,
    who: Caller,
    until: Instant | 'longest' | 'unreadable',
    isOnAny: boolean,
  ): Expected {
    const held = license.holders.get(who.user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(who);
    if (refusal !== null) return refuse(refusal);
    const rules = findBorrowRules(this.rules, this.now);
    const { allow = null } = rules ?? {};
    const isAllowed = allow === null || allow.some((group) => isMember(this.rules, who, group));
    if (!isAllowed || license.facts.maxBorrowHours === 0) return refuse('license_borrow_not_allowed');
    const granted = this.#grantUntil(license, until, rules?.hours ?? null);
    if (granted === null) return refuse('borrow_until_not_valid');
    const left = isOnAny ? this.#listLeft(license, who.user) : [];
    const missing = held === undefined ? this.#refuseNew(license, who, left) : null;
    if (missing !== null) return missing;
    const isExtended = granted > (held?.borrowedUntil ?? 0);
    if (held !== undefined && isOver(license) && isExtended) return refuseFull(license, true);
    const isNew = (held?.borrowedUntil ?? 0) <= this.now;
    const spent = isNew && rules !== null ? this.#refuseMoreBorrows(rules, who, left) : null;
    return spent ?? this.#hold(license, who, granted, left);
  }

  /** Those that are asked before this one give their slot of the user back, if this one lends. */
  #listLeft(license: ModelLicense, user: string): readonly ModelLicense[] {
    const own = this.renewable(user);
    return own.includes(license) ? own.slice(0, own.indexOf(license)) : own;
  }

  #refuseMoreBorrows(
    { keep, perAddress }: BorrowRules,
    { user, at }: Person,
    left: readonly ModelLicense[],
  ): Refusal | null {
    const usable = this.licenses.filter(this.isUsable);
    const borrowed = usable.flatMap((license) =>
      [...license.holders].flatMap(([holder, held]) => {
        const isLeft = holder === user && left.includes(license);
        return isLeft || (held.borrowedUntil ?? 0) <= this.now ? [] : held;
      }),
    );
    const slots = usable.reduce((sum, { facts }) => sum + facts.slots, 0);
    const kept = refuseKept(keep, slots, borrowed.length);
    if (kept !== null || perAddress === null || at.address === null) return kept;
    const here = borrowed.filter((held) => networkOf(held.at.address) === networkOf(at.address));
    return here.length >= perAddress ? refuse('address_limit_reached') : null;
  }

  /**
   * A named license alone; otherwise those with a slot of the user, then all that can be used, until one does
   * not refuse. Who is barred is so everywhere. A refusal is counted once, on the newest that can be used.
   */
  #take(user: string, id: LicenseId | null, attempt: (license: ModelLicense) => Expected): Expected {
    if (id !== null) return this.#count(this.get(id), attempt(this.get(id)));
    const usable = this.licenses.filter((license) => this.refuseByState(license) === null);
    const refusals: Refusal[] = [];
    for (const license of new Set([...this.renewable(user), ...usable])) {
      const answer = attempt(license);
      if (answer.kind !== 'refused') return answer;
      refusals.push(answer);
    }
    const [newest] = [...usable, ...this.licenses] as [ModelLicense];
    return this.#count(newest, refusals.length === 0 ? attempt(newest) : sumUp(refusals));
  }

  #count(license: ModelLicense, answer: Expected): Expected {
    if (answer.kind === 'refused') license.denials += 1;
    return answer;
  }

  /** Where a slot is counted: where its holder is now, if it could be returned and lent anew there. */
  #countAt(license: ModelLicense, user: string, to: Place, left: readonly ModelLicense[]): Place {
    const held = license.holders.get(user);
    if (held === undefined) return to;
    const own = this.rules.products.cad;
    const [from, there] = [held.counted, to].map((at) => ({ user, at })) as [Person, Person];
    const mayMove =
      own === undefined ||
      countsAlike(this.rules, own, from, there) ||
      mayLend(this.rules, own, this.holdings(license, user, left), there, this.now);
    return mayMove && this.mayMoveFeatures(license, from, there, left) ? to : held.counted;
  }

  /** Those that the user holds there, if any. */
  protected mayMoveFeatures(
    _license: ModelLicense,
    _from: Person,
    _to: Person,
    _left: readonly ModelLicense[],
  ): boolean {
    return true;
  }

  /** A program leaves the slot that it uses; without a name, the user gives back the first. */
  unregister(user: string, id: LicenseId | null, instance: string | null = null): Expected {
    const own = this.own(user, id);
    const isUsed = ({ holders }: ModelLicense) => holders.get(user)?.programs.has(instance ?? '') === true;
    const license = (instance === null ? undefined : own.find(isUsed)) ?? own[0];
    return this.leave(license, user, instance);
  }

  /** It stays where it is counted, whoever is left. */
  protected leave({ holders }: ModelLicense, user: string, instance: string | null): Expected {
    const held = holders.get(user);
    if (held === undefined) return refuse('device_not_found');
    const { isFree, answer } = instance === null ? GIVEN_BACK : leaveHeld(held, instance, this.now);
    if (isFree) holders.delete(user);
    return answer;
  }

  release(user: string, id: LicenseId | null): Expected {
    return this.#takeBack(user, id, false);
  }

  recall(user: string, id: LicenseId | null): Expected {
    return this.#takeBack(user, id, true);
  }

  /** The first that is borrowed, or the first that is not. */
  #takeBack(user: string, id: LicenseId | null, isBorrowed: boolean): Expected {
    const held = this.own(user, id).filter(({ holders }) => holders.has(user));
    if (held.length === 0) return refuse('device_not_found');
    const isWanted = ({ holders }: ModelLicense) =>
      (holders.get(user)?.borrowedUntil ?? 0) > this.now === isBorrowed;
    const wanted = held.find(isWanted);
    if (wanted === undefined) return refuse(isBorrowed ? 'slot_not_borrowed' : 'slot_is_borrowed');
    wanted.holders.delete(user);
    return { kind: 'done', count: 1 };
  }

  releaseAll(id: LicenseId): Expected {
    const { holders } = this.get(id);
    const count = holders.size;
    holders.clear();
    return { kind: 'done', count };
  }

  /** `isSlot`: they do not only count. */
  protected refuseBarred(who: Person, isSlot = true): string | null {
    return isKeptOut(this.rules, who, isSlot) ? 'blacklisted' : null;
  }

  #grantUntil(
    { facts }: ModelLicense,
    until: Instant | 'longest' | 'unreadable',
    hoursByRules: number | null,
  ): Instant | null {
    const hours = Math.min(facts.maxBorrowHours, hoursByRules ?? facts.maxBorrowHours);
    const latest = cut(plus(this.now, hours * HOUR_MS), facts.validUntil);
    if (until === 'longest') return latest;
    if (until === 'unreadable' || until <= this.now || until > latest + TOLERANCE_MS) return null;
    return cut(until, latest);
  }

  #hold(
    license: ModelLicense,
    { user, at: asked, instance }: Caller,
    borrowedUntil: Instant | null,
    left: readonly ModelLicense[],
  ): Expected {
    const endsAt = later(this.heartbeatEnd(license), borrowedUntil ?? instant(0));
    const before = license.holders.get(user);
    const at = {
      hostname: asked.hostname ?? before?.at.hostname ?? null,
      address: asked.address ?? before?.at.address ?? null,
    };
    const counted = this.#countAt(license, user, at, left);
    const programs = withProgram(before?.programs, instance);
    license.holders.set(user, { endsAt, borrowedUntil, programs, at, counted });
    return { kind: 'granted', licenseId: license.id, inUse: license.holders.size, endsAt, borrowedUntil };
  }
}

function isOver({ facts, holders }: ModelLicense): boolean {
  return holders.size > facts.slots;
}
