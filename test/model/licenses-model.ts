import { type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import { type LicenseId, licenseId } from '@berth/server/core/nouns/license';
import type { Waiting } from '@berth/server/core/outcome';
import { EMPTY_RULE_SET, type RuleSet } from '@berth/server/core/rules/rule-set';
import { NOW } from '../../packages/server/test/core/examples.ts';
import { cut, cutHeld, type HeldSlot, later } from './held.ts';
import type { Refusal } from './model-refusals.ts';
import type { Holdings, Person } from './naive-rules.ts';

export const TIMEOUT_MS = 10 * MINUTE_MS;

/** The facts of a license that change while the model runs. */
export interface Facts {
  readonly slots: number;
  readonly enabled: boolean;
  readonly validUntil: Instant | null;
  /** 0: it does not allow borrowing. */
  readonly maxBorrowHours: number;
}

export interface ModelLicense {
  readonly id: LicenseId;
  facts: Facts;
  readonly holders: Map<string, HeldSlot>;
  /** How often somebody was refused a slot. */
  denials: number;
}

/** A free slot that is kept for somebody who comes first. `wanted`: empty for the license itself. */
interface KeptSlot {
  readonly id: LicenseId;
  readonly wanted: string;
  readonly who: Person;
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
  | Waiting
  | Refusal;

/** By the id of the license. */
export const FIRST_FACTS: Readonly<Record<number, Facts>> = Object.fromEntries(
  [24, 2, 0].map((maxBorrowHours, index) => [
    index + 1,
    { slots: index === 0 ? 3 : 2, enabled: true, maxBorrowHours, validUntil: null },
  ]),
);

/**
 * Three licenses of one product, and who holds a slot of which until when. No rows, no counters, no events,
 * no batches: what is in use is how many holders are left, and what has ended is simply forgotten.
 */
export class LicensesModel {
  now: Instant = NOW;
  rules: RuleSet = EMPTY_RULE_SET;
  /** While somebody asks: what is kept for others. */
  kept: readonly KeptSlot[] = [];
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
      const timeout = this.heartbeatEnd(license);
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

  /** Those with a slot of the user that can be renewed. */
  protected renewable(user: string): readonly ModelLicense[] {
    return this.licenses.filter(
      (license) => license.holders.has(user) && this.refuseByState(license) === null,
    );
  }

  /**
   * What is held of the product: on licenses that can be used, without the slots of the user on those in
   * `left`, and as if the one on `returned` were given back.
   */
  holdings(returned: ModelLicense | null, user = '', left: readonly ModelLicense[] = []): Holdings {
    const gone = (license: ModelLicense) =>
      (returned === license || left.includes(license)) && license.holders.has(user);
    const usable = this.licenses.filter(this.isUsable);
    const held = usable.flatMap((license) =>
      [...license.holders].flatMap(([holder, { counted }]) =>
        holder === user && gone(license) ? [] : { user: holder, at: counted },
      ),
    );
    const kept = usable.flatMap(({ id }) => this.keptOn(id, ''));
    held.push(...kept);
    const free = usable.map((one) => {
      const taken = one.holders.size + this.keptOn(one.id, '').length;
      return one.facts.slots - taken + (gone(one) ? 1 : 0);
    });
    return { held, filling: held, free: free.reduce((sum, slots) => sum + Math.max(0, slots), 0) };
  }

  keptOn(id: LicenseId, wanted: string): readonly Person[] {
    return this.kept.filter((one) => one.id === id && one.wanted === wanted).map(({ who }) => who);
  }

  readonly isUsable = (license: ModelLicense): boolean => this.refuseByState(license) === null;

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
    const order = id === null ? [...new Set([...this.renewable(user), ...holding])] : [this.get(id)];
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

  protected heartbeatEnd({ facts }: ModelLicense): Instant {
    return cut(plus(this.now, TIMEOUT_MS), facts.validUntil);
  }
}
