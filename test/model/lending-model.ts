import { HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import { NOW } from '../../packages/server/test/core/examples.ts';
import { cut, cutHeld, GIVEN_BACK, type Held, later, leaveHeld, withProgram } from './held.ts';

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

/** A slot, and the address that it was last asked for from. */
interface HeldSlot extends Held {
  from: string | null;
}

/** Where a request comes from, and what one address may hold there; 0 is without a limit. */
export interface Origin {
  readonly address: string;
  readonly slots: number;
  readonly borrows: number;
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
  | { readonly kind: 'done'; readonly count: number; readonly programs?: number }
  | { readonly kind: 'refused'; readonly code: string; readonly details?: Record<string, number | null> };

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
  /** Whom the administrator has barred. */
  barred: readonly string[] = [];
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

  register(
    user: string,
    id: LicenseId | null,
    origin: Origin | null = null,
    instance: string | null = null,
  ): Expected {
    return this.#take(user, id, (license) => this.#tryRegister(license, user, origin, instance));
  }

  borrow(
    user: string,
    id: LicenseId | null,
    until: Instant | 'longest' | 'unreadable',
    origin: Origin | null = null,
    instance: string | null = null,
  ): Expected {
    const before = this.#renewable(user);
    const answer = this.#take(user, id, (license) => this.#tryBorrow(license, user, until, origin, instance));
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

  #tryRegister(
    license: ModelLicense,
    user: string,
    origin: Origin | null,
    instance: string | null,
  ): Expected {
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(user);
    if (refusal !== null) return refuse(refusal);
    if (held === undefined && isFull(license)) return refuseFull(license, false);
    if (held === undefined && this.#isCrowded(license, origin, 'slots'))
      return refuse('address_limit_reached');
    return this.#hold(license, user, held?.borrowedUntil ?? null, origin, instance);
  }

  #tryBorrow(
    license: ModelLicense,
    user: string,
    until: Instant | 'longest' | 'unreadable',
    origin: Origin | null,
    instance: string | null,
  ): Expected {
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(user);
    if (refusal !== null) return refuse(refusal);
    if (license.facts.maxBorrowHours === 0) return refuse('license_borrow_not_allowed');
    const granted = this.#grantUntil(license, until);
    if (granted === null) return refuse('borrow_until_not_valid');
    const isExtended = granted > (held?.borrowedUntil ?? 0);
    const isShort = held === undefined ? isFull(license) : isOver(license) && isExtended;
    if (isShort) return refuseFull(license, held !== undefined);
    const isNew = (held?.borrowedUntil ?? 0) <= this.now;
    const isCrowded =
      (held === undefined && this.#isCrowded(license, origin, 'slots')) ||
      (isNew && this.#isCrowded(license, origin, 'borrows'));
    if (isCrowded) return refuse('address_limit_reached');
    return this.#hold(license, user, granted, origin, instance);
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

  #isCrowded({ holders }: ModelLicense, origin: Origin | null, what: 'slots' | 'borrows'): boolean {
    if (origin === null || origin[what] === 0) return false;
    const here = [...holders.values()].filter(({ from }) => isSamePlace(from, origin.address));
    const counted = here.filter((held) => what === 'slots' || (held.borrowedUntil ?? 0) > this.now);
    return counted.length >= origin[what];
  }

  /** A program leaves the slot that it uses; without a name, the user gives back the first. */
  unregister(user: string, id: LicenseId | null, instance: string | null = null): Expected {
    const own = this.own(user, id);
    const isUsed = ({ holders }: ModelLicense) => holders.get(user)?.programs.has(instance ?? '') === true;
    const license = (instance === null ? undefined : own.find(isUsed)) ?? own[0];
    return this.leave(license, user, instance);
  }

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

  bar(users: readonly string[]): Expected {
    const isSame = JSON.stringify(this.barred) === JSON.stringify(users);
    this.barred = users;
    return { kind: 'done', count: isSame ? 0 : 1 };
  }

  protected refuseBarred(user: string | null): string | null {
    return user !== null && this.barred.includes(user) ? 'blacklisted' : null;
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
    origin: Origin | null,
    instance: string | null,
  ): Expected {
    const endsAt = later(this.#heartbeatEnd(license), borrowedUntil ?? instant(0));
    const held = license.holders.get(user);
    const from = origin?.address ?? held?.from ?? null;
    const programs = withProgram(held?.programs, instance);
    license.holders.set(user, { endsAt, borrowedUntil, from, programs });
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

type Refusal = Expected & { readonly kind: 'refused' };

export function refuse(code: string): Refusal {
  return { kind: 'refused', code };
}

/** A shrunk license may need more than one end until there is room, so it names no time. */
function refuseFull({ facts, holders }: ModelLicense, isHolder: boolean): Refusal {
  const ends = [...holders.values()].map(({ endsAt }) => endsAt);
  const isRoomNext = ends.length > 0 && ends.length - (isHolder ? 1 : 0) <= facts.slots;
  const nextFreeAt = isRoomNext ? { nextFreeAt: Math.min(...ends) } : {};
  const details = { slots: facts.slots, inUse: holders.size, ...nextFreeAt };
  return { kind: 'refused', code: 'floating_not_available', details };
}

/** What comes later here was nearer to being granted. */
const NEARER: readonly string[] = [
  'license_borrow_not_allowed',
  'borrow_until_not_valid',
  'floating_not_available',
  'address_limit_reached',
];

/** What several licenses have said, as one: those that are full are added up. */
function sumUp(refusals: readonly Refusal[]): Refusal {
  const [nearest] = refusals.toSorted((a, b) => NEARER.indexOf(b.code) - NEARER.indexOf(a.code)) as [Refusal];
  if (nearest.code !== 'floating_not_available') return nearest;
  const full = refusals.flatMap(({ code, details }) => (code === nearest.code && details ? [details] : []));
  const total = (name: string) => full.reduce((sum, details) => sum + (details[name] as number), 0);
  const ends = full.flatMap(({ nextFreeAt }) => nextFreeAt ?? []);
  const nextFreeAt = ends.length === 0 ? {} : { nextFreeAt: Math.min(...ends) };
  const details = { slots: total('slots'), inUse: total('inUse'), ...nextFreeAt, licenses: full.length };
  return { kind: 'refused', code: nearest.code, details };
}
