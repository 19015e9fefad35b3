import { HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import { NOW } from '../../packages/server/test/core/examples.ts';
import { type Refusal, refuse, refuseFull, sumUp } from './model-refusals.ts';

export const TIMEOUT_MS = 10 * MINUTE_MS;
/** The longest that any of the licenses allows. */
export const MAX_BORROW_MS = 24 * HOUR_MS;
export const SHORT_BORROW_MS = 2 * HOUR_MS;
export const TOLERANCE_MS = 5 * MINUTE_MS;

/** The facts of a license that change while the model runs. */
export interface Facts {
  readonly slots: number;
  readonly enabled: boolean;
  readonly validUntil: Instant | null;
  /** 0: it does not allow borrowing. */
  readonly maxBorrowHours: number;
}

export interface Held {
  endsAt: Instant;
  borrowedUntil: Instant | null;
}

/** A slot, the address that it was last asked for from, and the one where it is counted. */
interface HeldSlot extends Held {
  from: string | null;
  countedAt: string | null;
}

/** Who is kept out, and what each address may hold of the product; `null`: no limit. */
export interface ModelRules {
  readonly users: readonly string[];
  readonly slots: number | null;
  readonly borrows: number | null;
}

export interface ModelLicense {
  readonly id: LicenseId;
  facts: Facts;
  readonly holders: Map<string, HeldSlot>;
  /** How often somebody was refused a slot. */
  denials: number;
}

/** What a store must answer. */
export type Expected =
  | {
      readonly kind: 'granted';
      readonly licenseId: LicenseId;
      readonly inUse: number;
      readonly endsAt: Instant;
      readonly borrowedUntil: Instant | null;
    }
  | {
      readonly kind: 'measured';
      readonly licenseId: LicenseId;
      readonly total: number;
      readonly inUse: number;
      readonly endsAt: Instant | null;
      readonly borrowedUntil: Instant | null;
    }
  | { readonly kind: 'done'; readonly count: number }
  | Refusal;

/** By the id of the license. */
export const FIRST_FACTS: Readonly<Record<number, Facts>> = Object.fromEntries(
  [24, 2, 0].map((maxBorrowHours, index) => [
    index + 1,
    { slots: 2, enabled: true, maxBorrowHours, validUntil: null },
  ]),
);

/**
 * Three licenses of one product, and who holds a slot of which until when. No rows, no counters, no events,
 * no batches: what is in use is how many holders are left, and what has ended is simply forgotten.
 */
export class LendingModel {
  now: Instant = NOW;
  #rules: ModelRules = { users: [], slots: null, borrows: null };
  #revision = 0;
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

  register(user: string, id: LicenseId | null, origin: string | null = null): Expected {
    const leaver = id === null ? user : null;
    return this.#take(user, id, (license) => this.#tryRegister(license, user, origin, leaver));
  }

  borrow(
    user: string,
    id: LicenseId | null,
    until: Instant | 'longest' | 'unreadable',
    origin: string | null = null,
  ): Expected {
    const before = this.#renewable(user);
    const leaver = id === null ? user : null;
    const answer = this.#take(user, id, (license) => this.#tryBorrow(license, user, until, origin, leaver));
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

  #tryRegister(license: ModelLicense, user: string, origin: string | null, leaver: string | null): Expected {
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(user);
    if (refusal !== null) return refuse(refusal);
    const limited = held === undefined ? this.#refuseByLimit(license, origin, leaver) : null;
    if (limited !== null) return limited;
    if (held === undefined && isFull(license)) return refuseFull(license, false);
    const isSame = held !== undefined && (origin ?? held.from) === held.from;
    const countedAt = isSame ? held.countedAt : this.#countAt(license, user, origin, leaver);
    return this.#hold(license, user, held?.borrowedUntil ?? null, origin, countedAt);
  }

  #tryBorrow(
    license: ModelLicense,
    user: string,
    until: Instant | 'longest' | 'unreadable',
    origin: string | null,
    leaver: string | null,
  ): Expected {
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(user);
    if (refusal !== null) return refuse(refusal);
    if (license.facts.maxBorrowHours === 0) return refuse('license_borrow_not_allowed');
    const granted = this.#grantUntil(license, until);
    if (granted === null) return refuse('borrow_until_not_valid');
    const limited = held === undefined ? this.#refuseByLimit(license, origin, leaver) : null;
    if (limited !== null) return limited;
    const isExtended = granted > (held?.borrowedUntil ?? 0);
    const isShort = held === undefined ? isFull(license) : isOver(license) && isExtended;
    if (isShort) return refuseFull(license, held !== undefined);
    const isNew = (held?.borrowedUntil ?? 0) <= this.now;
    if (isNew && this.#areBorrowsSpent(license, origin, leaver)) return refuse('address_limit_reached');
    const countedAt = this.#countAt(license, user, origin, leaver);
    return this.#hold(license, user, granted, origin, countedAt);
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
   * What rules look at: all licenses that can be used, without what the user would leave on others than this
   * one.
   */
  #pool(license: ModelLicense, leaver: string | null): readonly ModelLicense[] {
    const usable = this.licenses.filter((one) => this.refuseByState(one) === null);
    return usable.map((one) => {
      const holders = new Map(one.holders);
      if (one !== license && leaver !== null) holders.delete(leaver);
      return { ...one, holders };
    });
  }

  #refuseByLimit(license: ModelLicense, origin: string | null, leaver: string | null): Refusal | null {
    const { slots: limit } = this.#rules;
    if (limit === null || origin === null) return null;
    const held = this.#pool(license, leaver).flatMap(({ holders }) => [...holders.values()]);
    const inUse = held.filter(({ countedAt }) => isSamePlace(countedAt, origin)).length;
    if (inUse < limit) return null;
    const details = { rule: `limit ${limit} for each address`, limit, inUse };
    return { kind: 'refused', code: 'floating_not_available', details };
  }

  #areBorrowsSpent(license: ModelLicense, origin: string | null, leaver: string | null): boolean {
    const { borrows } = this.#rules;
    if (borrows === null || origin === null) return false;
    const held = this.#pool(license, leaver).flatMap(({ holders }) => [...holders.values()]);
    const here = held.filter(({ from }) => isSamePlace(from, origin));
    return here.filter(({ borrowedUntil }) => (borrowedUntil ?? 0) > this.now).length >= borrows;
  }

  /** A slot is counted where its holder is now, if it could be returned and lent anew there. */
  #countAt(license: ModelLicense, user: string, origin: string | null, leaver: string | null): string | null {
    const held = license.holders.get(user);
    const to = origin ?? held?.from ?? null;
    if (held === undefined || this.#rules.slots === null || to === held.countedAt) return to;
    if (to !== null && isSamePlace(held.countedAt, to)) return to;
    const pool = this.#pool(license, leaver);
    pool.find(({ id }) => id === license.id)?.holders.delete(user);
    const counted = pool.flatMap(({ holders }) => [...holders.values()]);
    const inUse = to === null ? 0 : counted.filter(({ countedAt }) => isSamePlace(countedAt, to)).length;
    return inUse < this.#rules.slots && pool.some((one) => !isFull(one)) ? to : held.countedAt;
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

  rule(rules: ModelRules): Expected {
    const isSame = this.#revision > 0 && JSON.stringify(this.#rules) === JSON.stringify(rules);
    if (isSame) return { kind: 'done', count: 0 };
    this.#rules = rules;
    this.#revision += 1;
    return { kind: 'done', count: this.#revision };
  }

  protected refuseBarred(user: string | null): string | null {
    return user !== null && this.#rules.users.includes(user) ? 'blacklisted' : null;
  }

  #heartbeatEnd({ facts }: ModelLicense): Instant {
    return cut(plus(this.now, TIMEOUT_MS), facts.validUntil);
  }

  #grantUntil({ facts }: ModelLicense, until: Instant | 'longest' | 'unreadable'): Instant | null {
    const latest = cut(plus(this.now, facts.maxBorrowHours * HOUR_MS), facts.validUntil);
    if (until === 'longest') return latest;
    if (until === 'unreadable' || until <= this.now || until > latest + TOLERANCE_MS) return null;
    return cut(until, latest);
  }

  #hold(
    license: ModelLicense,
    user: string,
    borrowedUntil: Instant | null,
    origin: string | null,
    countedAt: string | null,
  ): Expected {
    const endsAt = later(this.#heartbeatEnd(license), borrowedUntil ?? instant(0));
    const from = origin ?? license.holders.get(user)?.from ?? null;
    license.holders.set(user, { endsAt, borrowedUntil, from, countedAt });
    return { kind: 'granted', licenseId: license.id, inUse: license.holders.size, endsAt, borrowedUntil };
  }
}

/** The histories know addresses of IPv4, and of one network of IPv6. */
function isSamePlace(a: string | null, b: string): boolean {
  return a === b || (a?.includes(':') === true && b.includes(':'));
}

function isFull({ facts, holders }: ModelLicense): boolean {
  return holders.size >= facts.slots;
}

function isOver({ facts, holders }: ModelLicense): boolean {
  return holders.size > facts.slots;
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}

/** Nothing is held beyond the limit. */
export function cutHeld(held: Held, limit: Instant | null): void {
  held.endsAt = cut(held.endsAt, limit);
  if (held.borrowedUntil !== null) held.borrowedUntil = cut(held.borrowedUntil, limit);
}

export function cut(at: Instant, limit: Instant | null): Instant {
  return limit !== null && limit < at ? limit : at;
}
