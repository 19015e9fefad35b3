import { NOW } from '@berth/server/core/examples';
import { HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/instant';
import { type LicenseId, licenseId } from '@berth/server/core/license';

export const TIMEOUT_MS = 10 * MINUTE_MS;
export const MAX_BORROW_MS = 24 * HOUR_MS;
export const TOLERANCE_MS = 5 * MINUTE_MS;

/** The facts of a license that change while the model runs. */
export interface Facts {
  readonly slots: number;
  readonly enabled: boolean;
  readonly validUntil: Instant | null;
}

export interface Held {
  endsAt: Instant;
  borrowedUntil: Instant | null;
}

/** A slot, and the address that it was last asked for from. */
export interface HeldSlot extends Held {
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
  | { readonly kind: 'done'; readonly count: number }
  | { readonly kind: 'refused'; readonly code: string; readonly details?: Record<string, number | null> };

export const FIRST_FACTS: Facts = { slots: 2, enabled: true, validUntil: null };

/**
 * Two licenses of one product, and who holds a slot of which until when. No rows, no counters, no events, no
 * batches: what is in use is how many holders are left, and what has ended is simply forgotten.
 */
export class LendingModel {
  now: Instant = NOW;
  /** Whom the administrator has barred. */
  barred: readonly string[] = [];
  /** The one that was added last comes first. */
  readonly licenses: readonly ModelLicense[] = [2, 1].map((id) => ({
    id: licenseId(id),
    facts: FIRST_FACTS,
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
    for (const held of license.holders.values()) {
      held.endsAt = cut(held.endsAt, facts.validUntil);
      if (held.borrowedUntil !== null) held.borrowedUntil = cut(held.borrowedUntil, facts.validUntil);
    }
    return { kind: 'done', count: isSame ? 0 : 1 };
  }

  register(user: string, id: LicenseId | null, origin: Origin | null = null): Expected {
    const license = this.choose(user, id);
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(user);
    if (refusal !== null) return deny(license, refusal);
    if (held === undefined && isFull(license)) return deny(license, 'floating_not_available');
    if (held === undefined && this.#isCrowded(license, origin, 'slots')) {
      return deny(license, 'address_limit_reached');
    }
    return this.#hold(license, user, held?.borrowedUntil ?? null, origin);
  }

  borrow(
    user: string,
    id: LicenseId | null,
    until: Instant | 'longest' | 'unreadable',
    origin: Origin | null = null,
  ): Expected {
    const license = this.choose(user, id);
    const held = license.holders.get(user);
    const refusal = this.refuseByState(license) ?? this.refuseBarred(user);
    if (refusal !== null) return deny(license, refusal);
    const granted = this.#grantUntil(license, until);
    if (granted === null) return deny(license, 'borrow_until_not_valid');
    const isExtended = granted > (held?.borrowedUntil ?? 0);
    const isShort = held === undefined ? isFull(license) : isOver(license) && isExtended;
    if (isShort) return deny(license, 'floating_not_available');
    const isNew = (held?.borrowedUntil ?? 0) <= this.now;
    const isCrowded =
      (held === undefined && this.#isCrowded(license, origin, 'slots')) ||
      (isNew && this.#isCrowded(license, origin, 'borrows'));
    if (isCrowded) return deny(license, 'address_limit_reached');
    return this.#hold(license, user, granted, origin);
  }

  #isCrowded({ holders }: ModelLicense, origin: Origin | null, what: 'slots' | 'borrows'): boolean {
    if (origin === null || origin[what] === 0) return false;
    const here = [...holders.values()].filter(({ from }) => isSamePlace(from, origin.address));
    const counted = here.filter((held) => what === 'slots' || (held.borrowedUntil ?? 0) > this.now);
    return counted.length >= origin[what];
  }

  unregister(user: string, id: LicenseId | null): Expected {
    const license = this.choose(user, id);
    return license.holders.delete(user) ? { kind: 'done', count: 1 } : refuse('device_not_found');
  }

  release(user: string, id: LicenseId | null): Expected {
    const held = this.choose(user, id).holders.get(user);
    if ((held?.borrowedUntil ?? 0) > this.now) return refuse('slot_is_borrowed');
    return this.unregister(user, id);
  }

  recall(user: string, id: LicenseId | null): Expected {
    const license = this.choose(user, id);
    const held = license.holders.get(user);
    if (held === undefined) return refuse('device_not_found');
    if ((held.borrowedUntil ?? 0) <= this.now) return refuse('slot_not_borrowed');
    return this.unregister(user, license.id);
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

  /** With several of the product: where the user holds a slot, else the newest usable one. */
  protected choose(user: string | null, id: LicenseId | null): ModelLicense {
    if (id !== null) return this.get(id);
    const holding = this.licenses.find(({ holders }) => user !== null && holders.has(user));
    const usable = this.licenses.find((license) => this.refuseByState(license) === null);
    return holding ?? usable ?? (this.licenses[0] as ModelLicense);
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
    const latest = cut(plus(this.now, MAX_BORROW_MS), facts.validUntil);
    if (until === 'longest') return latest;
    if (until === 'unreadable' || until <= this.now || until > latest + TOLERANCE_MS) return null;
    return cut(until, latest);
  }

  #hold(license: ModelLicense, user: string, borrowedUntil: Instant | null, origin: Origin | null): Expected {
    const endsAt = later(this.#heartbeatEnd(license), borrowedUntil ?? instant(0));
    const from = origin?.address ?? license.holders.get(user)?.from ?? null;
    license.holders.set(user, { endsAt, borrowedUntil, from });
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

export function refuse(code: string): Expected {
  return { kind: 'refused', code };
}

function deny(license: ModelLicense, code: string): Expected {
  license.denials += 1;
  if (code !== 'floating_not_available') return refuse(code);
  const { facts, holders } = license;
  const ends = [...holders.values()].map(({ endsAt }) => endsAt);
  const nextFreeAt = ends.length === 0 ? null : Math.min(...ends);
  return { kind: 'refused', code, details: { slots: facts.slots, inUse: holders.size, nextFreeAt } };
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}

export function cut(at: Instant, limit: Instant | null): Instant {
  return limit !== null && limit < at ? limit : at;
}
