import { HOUR_MS, type Instant, instant, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import { type BorrowRules, EMPTY_RULE_SET, type RuleSet } from '@berth/server/core/rules/rule-set';
import { NOW } from '../../packages/server/test/core/examples.ts';
import type { Lacking } from './fair-rules.ts';
import {
  cut,
  cutHeld,
  type Expected,
  type Facts,
  FIRST_FACTS,
  isFull,
  isOver,
  later,
  type ModelLicense,
  SOMEWHERE,
  TIMEOUT_MS,
  TOLERANCE_MS,
} from './model-license.ts';
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

/**
 * Three licenses of one product, and who holds a slot of which until when. No rows, no counters, no events,
 * no batches: what is in use is how many holders are left, and what has ended is simply forgotten.
 */
export class LendingModel {
  now: Instant = NOW;
  rules: RuleSet = EMPTY_RULE_SET;
  #revision = 0;
  /** Who was refused for lack of a slot in this step, whatever license they get. */
  lacking: Lacking[] = [];
  /** The one that was added last comes first. */
  readonly licenses: readonly ModelLicense[] = [3, 2, 1].map((id) => ({
    id: licenseId(id),
    facts: FIRST_FACTS[id] as Facts,
    holders: new Map(),
    denials: 0,
  }));

  tick(millis: number): void {
    this.now = plus(this.now, millis);
    this.#forgetEnded();
  }

  /** The next instant at which a slot ends. */
  nextEnd(): Instant | null {
    const ends = this.licenses.flatMap(({ holders }) => [...holders.values()].map(({ endsAt }) => endsAt));
    return ends.length === 0 ? null : instant(Math.min(...ends));
  }

  /** The server is away: whoever held a slot when it went has a whole timeout when it is back. */
  restart(downMs: number): void {
    this.now = plus(this.now, downMs);
    for (const license of this.licenses) {
      const timeout = this.#heartbeatEnd(license);
      for (const held of license.holders.values()) held.endsAt = later(held.endsAt, timeout);
    }
    this.#forgetEnded();
  }

  change(id: LicenseId, facts: Facts): Expected {
    const license = this.get(id);
    const isSame = JSON.stringify(license.facts) === JSON.stringify(facts);
    license.facts = facts;
    for (const held of license.holders.values()) cutHeld(held, facts.validUntil);
    return { kind: 'done', count: isSame ? 0 : 1 };
  }

  register(user: string, id: LicenseId | null, at: Place = SOMEWHERE): Expected {
    const answer = this.#take(user, id, (license) => this.#tryRegister(license, { user, at }));
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
  ): Expected {
    const before = this.#renewable(user);
    const attempt = (license: ModelLicense) => this.#tryBorrow(license, { user, at }, until, id === null);
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

  #tryRegister(license: ModelLicense, who: Person): Expected {
    const { user } = who;
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(who);
    if (refusal !== null) return refuse(refusal);
    const missing = held === undefined ? this.#refuseNew(license, who, []) : null;
    if (missing !== null) return missing;
    return this.#hold(license, who, held?.borrowedUntil ?? null, []);
  }

  /** For one who holds no slot of the license. */
  #refuseNew(license: ModelLicense, who: Person, left: readonly ModelLicense[]): Refusal | null {
    const own = this.rules.products.cad;
    const holdings = this.holdings(null, who.user, left);
    const limited = own === undefined ? null : refuseByLimit(this.rules, own, holdings, who, this.now);
    if (limited !== null) return limited;
    if (isFull(license)) return refuseFull(license, false);
    return own === undefined ? null : refuseByReservation(this.rules, own, holdings, who, this.now);
  }

  #tryBorrow(
    license: ModelLicense,
    who: Person,
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
    const own = this.#renewable(user);
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
    for (const license of new Set([...this.#renewable(user), ...usable])) {
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

  /** Those with a slot of the user that can be renewed. */
  #renewable(user: string): readonly ModelLicense[] {
    return this.licenses.filter(
      (license) => license.holders.has(user) && this.refuseByState(license) === null,
    );
  }

  /**
   * What is held of the product: on licenses that can be used, without the slots of the user on those in
   * `left`, and as if the one on `returned` were given back.
   */
  holdings(
    returned: ModelLicense | null,
    user = '',
    left: readonly ModelLicense[] = [],
  ): Pick<Lacking, 'held' | 'filling' | 'free'> {
    const gone = (license: ModelLicense) =>
      (returned === license || left.includes(license)) && license.holders.has(user);
    const usable = this.licenses.filter(this.isUsable);
    const held = usable.flatMap((license) =>
      [...license.holders].flatMap(([holder, { counted }]) =>
        holder === user && gone(license) ? [] : { user: holder, at: counted },
      ),
    );
    const free = usable.map((one) => one.facts.slots - one.holders.size + (gone(one) ? 1 : 0));
    return { held, filling: held, free: free.reduce((sum, slots) => sum + Math.max(0, slots), 0) };
  }

  readonly isUsable = (license: ModelLicense): boolean => this.refuseByState(license) === null;

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

  unregister(user: string, id: LicenseId | null): Expected {
    const { holders } = this.own(user, id)[0];
    return holders.delete(user) ? { kind: 'done', count: 1 } : refuse('device_not_found');
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

  #forgetEnded(): void {
    for (const { holders } of this.licenses) {
      for (const [user, { endsAt }] of holders) if (endsAt <= this.now) holders.delete(user);
    }
  }

  protected get(id: LicenseId): ModelLicense {
    return this.licenses.find((license) => license.id === id) as ModelLicense;
  }

  /**
   * The named license; otherwise those with a slot of the user, what can be renewed first; otherwise the
   * newest that can be used.
   */
  protected own(user: string, id: LicenseId | null): readonly [ModelLicense, ...ModelLicense[]] {
    const holding = this.licenses.filter(({ holders }) => holders.has(user));
    const order = id === null ? [...new Set([...this.#renewable(user), ...holding])] : [this.get(id)];
    const usable = this.licenses.find((license) => this.refuseByState(license) === null);
    const others = usable ?? (this.licenses[0] as ModelLicense);
    return (order.length === 0 ? [others] : order) as [ModelLicense];
  }

  protected refuseByState({ facts }: ModelLicense): string | null {
    if (!facts.enabled) return 'license_not_enabled';
    return cut(this.now, facts.validUntil) < this.now || facts.validUntil === this.now
      ? 'license_expired'
      : null;
  }

  rule(rules: RuleSet): Expected {
    const isSame = this.#revision > 0 && JSON.stringify(this.rules) === JSON.stringify(rules);
    if (isSame) return { kind: 'done', count: 0 };
    this.rules = rules;
    this.#revision += 1;
    return { kind: 'done', count: this.#revision };
  }

  /** `isSlot`: they do not only count. */
  protected refuseBarred(who: Person, isSlot = true): string | null {
    return isKeptOut(this.rules, who, isSlot) ? 'blacklisted' : null;
  }

  #heartbeatEnd({ facts }: ModelLicense): Instant {
    return cut(plus(this.now, TIMEOUT_MS), facts.validUntil);
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
    { user, at: asked }: Person,
    borrowedUntil: Instant | null,
    left: readonly ModelLicense[],
  ): Expected {
    const endsAt = later(this.#heartbeatEnd(license), borrowedUntil ?? instant(0));
    const before = license.holders.get(user)?.at;
    const at = {
      hostname: asked.hostname ?? before?.hostname ?? null,
      address: asked.address ?? before?.address ?? null,
    };
    const counted = this.#countAt(license, user, at, left);
    license.holders.set(user, { endsAt, borrowedUntil, at, counted });
    return { kind: 'granted', licenseId: license.id, inUse: license.holders.size, endsAt, borrowedUntil };
  }
}
