import type { ConsumptionLimits, Feature } from '@berth/server/core/nouns/feature';
import { HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import { exampleFeature, exampleLimits } from '../../packages/server/test/core/examples.ts';
import { cut, cutHeld, type Held, later, leaveHeld, withProgram } from './held.ts';
import { LendingModel, TOLERANCE_MS } from './lending-model.ts';
import type { Expected, Facts, ModelLicense } from './licenses-model.ts';
import { refuse } from './model-refusals.ts';
import {
  countsAlike,
  type Holdings,
  isKeptOutBy,
  mayLend,
  type Person,
  refuseByLimit,
  refuseByReservation,
} from './naive-rules.ts';

export const DAY_MS = 24 * HOUR_MS;
const FEATURE_TIMEOUT_MS = 30 * MINUTE_MS;
/** The feature that is lent. */
export const FEATURE = 'render';
export const FEATURE_SLOTS = 2;
const FEATURE_BORROW_MS = 4 * HOUR_MS;

export type Counted = null | 'export';

export const LIMITS: Readonly<Record<'license' | 'export', ConsumptionLimits>> = {
  license: exampleLimits({ allowOverages: true, maxOverages: 3, allowNegative: true, period: 'daily' }),
  export: exampleLimits({ max: 5, period: 'weekly' }),
};

export const FEATURES: readonly Feature[] = [
  exampleFeature('export', { consumption: LIMITS.export }),
  exampleFeature(FEATURE, {
    floating: {
      slots: FEATURE_SLOTS,
      timeoutMinutes: FEATURE_TIMEOUT_MS / MINUTE_MS,
      canBorrow: true,
      maxBorrowHours: FEATURE_BORROW_MS / HOUR_MS,
    },
  }),
];

export interface Consumed {
  readonly user: string | null;
  readonly licenseId: LicenseId | null;
  readonly feature: Counted;
  readonly count: number;
  readonly maxOverages: number | null;
  readonly key: string | null;
}

class Meter {
  /** By the number of the day or week. */
  readonly totals = new Map<number, number>();
  readonly inFlight = new Map<string, number>();
  pending = 0;
  reported = 0;
  accepted = 0;
}

interface Remembered {
  readonly at: Instant;
  readonly body: string;
  readonly answer: Expected;
}

/** What was counted and who holds a feature: maps beside those of the lending. */
export class CountingModel extends LendingModel {
  readonly #meters = new Map<string, Meter>();
  readonly #answers = new Map<string, Remembered>();
  readonly #featureSlots = new Map<LicenseId, Map<string, Held>>();

  /** What ended by itself, and what went with the slot of the license. Called after every step. */
  forgetFeatures(): void {
    for (const { id, holders } of this.licenses) {
      const slots = this.featureSlots(id);
      for (const [user, { endsAt }] of slots) {
        if (endsAt <= this.now || !holders.has(user)) slots.delete(user);
      }
    }
  }

  override restart(downMs: number): void {
    super.restart(downMs);
    for (const license of this.licenses) {
      const timeout = this.#featureTimeout(license);
      for (const held of this.featureSlots(license.id).values()) held.endsAt = later(held.endsAt, timeout);
    }
  }

  featureSlots(id: LicenseId): Map<string, Held> {
    const slots = this.#featureSlots.get(id) ?? new Map<string, Held>();
    this.#featureSlots.set(id, slots);
    return slots;
  }

  meter(id: LicenseId, feature: Counted): Meter {
    const key = `${id}/${feature}`;
    const meter = this.#meters.get(key) ?? new Meter();
    this.#meters.set(key, meter);
    return meter;
  }

  total(id: LicenseId, feature: Counted): number {
    return this.meter(id, feature).totals.get(this.#window(feature)) ?? 0;
  }

  /**
   * The license that has answered the key before; then, unless one is named, that of the user, and the others
   * that can be used, until one has room for all of it.
   */
  consume(request: Consumed): Expected {
    const { user, licenseId } = request;
    const known = this.#answered(request);
    if (known !== undefined) {
      return known.body === bodyOf(request) ? known.answer : refuse('idempotency_key_reused');
    }
    if (licenseId !== null)
      return this.#count(this.get(licenseId), this.#tryCount(this.get(licenseId), request));
    const usable = this.licenses.filter((license) => this.refuseByState(license) === null);
    const own = usable.filter(({ holders }) => user !== null && holders.has(user));
    const refusals: Expected[] = [];
    for (const license of new Set([...own, ...usable])) {
      const answer = this.#tryCount(license, request);
      if (answer.kind !== 'refused') return answer;
      refusals.push(answer);
    }
    const [newest] = [...usable, ...this.licenses] as [ModelLicense];
    return this.#count(newest, refusals[0] ?? this.#tryCount(newest, request));
  }

  /** What cannot be used at all leaves no trace. */
  #count(license: ModelLicense, answer: Expected): Expected {
    if (answer.kind === 'refused' && answer.code !== 'validation_error') license.denials += 1;
    return answer;
  }

  #tryCount(license: ModelLicense, request: Consumed): Expected {
    const { feature, count, key } = request;
    const state = this.refuseByState(license) ?? this.refuseBarred(nowhere(request.user ?? ''), false);
    if (state !== null) return refuse(state);
    const total = this.total(license.id, feature);
    const refusal = refuseCount(request, total);
    if (refusal !== null) return refuse(refusal);
    const answer = this.#answer(license, total + count, null);
    const meter = this.meter(license.id, feature);
    meter.totals.set(this.#window(feature), total + count);
    meter.pending += count;
    meter.accepted += count;
    if (key !== null) {
      const remembered = { at: this.now, body: bodyOf(request), answer };
      this.#answers.set(scopeOf(license, request), remembered);
    }
    return answer;
  }

  cutReport(id: LicenseId, feature: Counted, reportId: string): Expected {
    const meter = this.meter(id, feature);
    const amount = meter.pending;
    if (meter.inFlight.size > 0 || amount === 0) return { kind: 'done', count: 0 };
    meter.inFlight.set(reportId, amount);
    meter.pending = 0;
    return { kind: 'done', count: amount };
  }

  settleReport(id: LicenseId, feature: Counted, reportId: string, isCounted: boolean): Expected {
    const meter = this.meter(id, feature);
    const amount = meter.inFlight.get(reportId);
    if (amount === undefined) return { kind: 'done', count: 0 };
    meter.inFlight.delete(reportId);
    if (isCounted) meter.reported += amount;
    else meter.pending += amount;
    return { kind: 'done', count: amount };
  }

  /** On one of the licenses with a slot of the user; the first of them is the one that refuses. */
  registerFeature(
    user: string,
    id: LicenseId | null,
    until: number | 'longest' | 'unreadable' | null,
    instance: string | null = null,
  ): Expected {
    const own = this.own(user, id);
    const answers = own.values().map((license) => this.#tryFeature(license, user, until, instance));
    const refusals: Expected[] = [];
    for (const answer of answers) {
      if (answer.kind !== 'refused') return answer;
      refusals.push(answer);
      if (answer.code === 'blacklisted') break;
    }
    return this.#count(own[0], refusals[0] as Expected);
  }

  #tryFeature(
    license: ModelLicense,
    user: string,
    until: number | 'longest' | 'unreadable' | null,
    instance: string | null,
  ): Expected {
    const state = this.refuseByState(license) ?? this.refuseBarred(nowhere(user));
    if (state !== null) return refuse(state);
    const holder = license.holders.get(user);
    if (holder === undefined) return refuse('device_not_found');
    const granted = until === null ? null : this.#grantFeatureUntil(holder, until);
    if (until !== null && granted === null) return refuse('borrow_until_not_valid');
    const slots = this.featureSlots(license.id);
    const held = slots.get(user);
    const missing = held === undefined ? this.#refuseNewFeature(license, { user, at: holder.counted }) : null;
    if (missing !== null) return missing;
    const borrowedUntil = granted ?? held?.borrowedUntil ?? null;
    const endsAt = later(this.#featureTimeout(license), borrowedUntil ?? instant(0));
    const slot = { endsAt, borrowedUntil, programs: withProgram(held?.programs, instance) };
    slots.set(user, slot);
    return this.#answer(license, 0, slot);
  }

  /** The license on which a slot of the feature is free for one who asks. */
  protected findFeatureLender(user: string, id: LicenseId | null): ModelLicense | undefined {
    if (this.refuseBarred(nowhere(user)) !== null) return undefined;
    return this.own(user, id).find((license) => {
      const holder = license.holders.get(user);
      if (holder === undefined || !this.isUsable(license)) return false;
      if (this.featureSlots(license.id).has(user)) return false;
      return this.#refuseNewFeature(license, { user, at: holder.counted }) === null;
    });
  }

  #refuseNewFeature(license: ModelLicense, who: Person): Expected | null {
    const own = this.rules.products.cad?.features[FEATURE];
    const slots = this.featureSlots(license.id);
    const holdings = this.featureHoldings(license);
    const limited = own === undefined ? null : refuseByLimit(this.rules, own, holdings, who, this.now);
    if (limited !== null) return limited;
    if (slots.size + this.keptOn(license.id, FEATURE).length >= FEATURE_SLOTS)
      return refuseFullFeature(slots);
    return own === undefined ? null : refuseByReservation(this.rules, own, holdings, who, this.now);
  }

  /** Counted like the slots of their holders. Those on the license itself fill reservations. */
  featureHoldings(license: ModelLicense, returned = '', left: readonly ModelLicense[] = []): Holdings {
    const listHeld = (one: ModelLicense) => {
      const isGone = one === license || left.includes(one);
      const users = [...this.featureSlots(one.id).keys()].filter((user) => !isGone || user !== returned);
      return users.flatMap((user) => {
        const holder = one.holders.get(user);
        return holder === undefined ? [] : { user, at: holder.counted };
      });
    };
    const listTaken = (one: ModelLicense) => [...listHeld(one), ...this.keptOn(one.id, FEATURE)];
    const filling = listTaken(license);
    const held = this.licenses.filter(this.isUsable).flatMap(listTaken);
    return { held, filling, free: Math.max(0, FEATURE_SLOTS - filling.length) };
  }

  protected override mayMoveFeatures(
    license: ModelLicense,
    from: Person,
    to: Person,
    left: readonly ModelLicense[],
  ): boolean {
    const own = this.rules.products.cad?.features[FEATURE];
    if (own === undefined || !this.featureSlots(license.id).has(to.user)) return true;
    if (isKeptOutBy(this.rules, own, to)) return false;
    const holdings = this.featureHoldings(license, to.user, left);
    return countsAlike(this.rules, own, from, to) || mayLend(this.rules, own, holdings, to, this.now);
  }

  releaseFeature(user: string, id: LicenseId | null, instance: string | null = null): Expected {
    const license = this.own(user, id).find((one) => this.featureSlots(one.id).has(user));
    if (license === undefined) return refuse('floating_feature_device_not_in_use');
    if (instance !== null) return this.#leaveFeature(license, user, instance);
    this.featureSlots(license.id).delete(user);
    return { kind: 'done', count: 1 };
  }

  #leaveFeature({ id }: ModelLicense, user: string, instance: string): Expected {
    const slots = this.featureSlots(id);
    const { isFree, answer } = leaveHeld(slots.get(user) as Held, instance, this.now);
    if (isFree) slots.delete(user);
    return answer;
  }

  /** Whoever leaves the license leaves its feature, also if they are back before the step has ended. */
  protected override leave(license: ModelLicense, user: string, instance: string | null): Expected {
    this.forgetFeatures();
    if (instance !== null && this.featureSlots(license.id).has(user))
      this.#leaveFeature(license, user, instance);
    const answer = super.leave(license, user, instance);
    this.forgetFeatures();
    return answer;
  }

  /** What is borrowed of a feature ends with the borrow of the license, also where that is cut short. */
  override borrow(...args: Parameters<LendingModel['borrow']>): Expected {
    const [user] = args;
    const answer = super.borrow(...args);
    if (answer.kind !== 'granted') return answer;
    this.forgetFeatures();
    const license = this.get(answer.licenseId);
    const slot = this.featureSlots(license.id).get(user);
    const until = answer.borrowedUntil as Instant;
    if (slot === undefined || (slot.borrowedUntil ?? 0) <= until) return answer;
    slot.endsAt = later(until, cut(slot.endsAt, this.#featureTimeout(license)));
    slot.borrowedUntil = until;
    return answer;
  }

  override change(id: LicenseId, facts: Facts): Expected {
    const answer = super.change(id, facts);
    for (const slot of this.featureSlots(id).values()) cutHeld(slot, facts.validUntil);
    return answer;
  }

  releaseAllFeatures(id: LicenseId): Expected {
    const slots = this.featureSlots(id);
    const count = slots.size;
    slots.clear();
    return { kind: 'done', count };
  }

  /** Monday is the first day of a week; the first day of all was a Thursday. */
  #window(feature: Counted): number {
    const day = Math.floor(this.now / DAY_MS);
    return feature === null ? day : Math.floor((day + 3) / 7);
  }

  #answered(request: Consumed): Remembered | undefined {
    const { licenseId } = request;
    const asked = licenseId === null ? this.licenses : [this.get(licenseId)];
    const known = asked.map((license) => this.#remembered(license, request));
    return known.find((answer) => answer !== undefined);
  }

  #remembered(license: ModelLicense, request: Consumed): Remembered | undefined {
    if (request.key === null) return undefined;
    const known = this.#answers.get(scopeOf(license, request));
    return known !== undefined && this.now < known.at + DAY_MS ? known : undefined;
  }

  #featureTimeout({ facts }: ModelLicense): Instant {
    return cut(plus(this.now, FEATURE_TIMEOUT_MS), facts.validUntil);
  }

  #grantFeatureUntil(holder: Held, until: number | 'longest' | 'unreadable'): Instant | null {
    const isBorrowed = (holder.borrowedUntil ?? 0) > this.now;
    const longest = isBorrowed ? (holder.borrowedUntil as Instant) : holder.endsAt;
    const latest = cut(plus(this.now, FEATURE_BORROW_MS), longest);
    if (until === 'longest') return latest;
    if (until === 'unreadable' || until <= this.now || until > latest + TOLERANCE_MS) return null;
    return cut(instant(until), latest);
  }

  #answer({ id }: ModelLicense, total: number, slot: Held | null): Expected {
    const inUse = slot === null ? 0 : this.featureSlots(id).size;
    const { endsAt = null, borrowedUntil = null } = slot ?? {};
    return { kind: 'measured', licenseId: id, total, inUse, endsAt, borrowedUntil };
  }
}

function refuseFullFeature(slots: Map<string, Held>): Expected {
  const nextFreeAt = Math.min(...[...slots.values()].map(({ endsAt }) => endsAt));
  const details = { slots: FEATURE_SLOTS, inUse: slots.size, nextFreeAt };
  return { kind: 'refused', code: 'floating_not_available', details };
}

/** Who asks without saying from where. */
export function nowhere(user: string): Person {
  return { user, at: { hostname: null, address: null } };
}

/** What tells requests apart that carry the same key. */
export function bodyOf({ licenseId, feature, count, maxOverages }: Consumed): string {
  return JSON.stringify([licenseId, feature, count, maxOverages]);
}

function scopeOf({ id }: ModelLicense, { feature, user, key }: Consumed): string {
  return JSON.stringify([id, feature, user, key]);
}

/** The highest total, with the overage that the request leaves. */
export function highestOf(feature: Counted, maxOverages: number | null): number {
  const { max, maxOverages: own } = LIMITS[feature ?? 'license'];
  return max + Math.min(own, maxOverages ?? own);
}

function refuseCount({ feature, count, maxOverages }: Consumed, total: number): string | null {
  const { allowNegative } = LIMITS[feature ?? 'license'];
  if (count < 0) return allowNegative && total + count >= 0 ? null : 'validation_error';
  if (count === 0 || total + count <= highestOf(feature, maxOverages)) return null;
  return feature === null ? 'license_not_enough_consumptions' : 'feature_not_enough_consumptions';
}
