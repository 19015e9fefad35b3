import type { Change, Restoration } from '../decision.ts';
import { personOf, recordBorrow } from '../history/record-usage.ts';
import type { UsageEvent } from '../history/usage-event.ts';
import {
  BORROW_TOLERANCE_MS,
  chooseFloating,
  resolveFeatureUntil,
  resolveLicenseUntil,
} from '../lending/borrow-until.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import type { EndedBorrow, LostBorrow, NamedBorrow } from '../nouns/ended-borrow.ts';
import {
  type FeatureSlot,
  type FloatingFeature,
  featureHeartbeatEnd,
  findFeature,
} from '../nouns/feature-slot.ts';
import { earlier, HOUR_MS, type Instant, later, plus } from '../nouns/instant.ts';
import { heartbeatEnd, type License } from '../nouns/license.ts';
import type { Registration } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { type Lender, refuseByState, refuseFull, refuseNotHeld } from '../refusals.ts';
import { type Rules, refuseByRules } from '../rules/rules.ts';

/**
 * A wrong clock is set back: which of the borrows that it ended come back? Those whose date is ahead again,
 * if the same borrow could be made at the right time: the license allows it and a slot is free. The others
 * are named, with the reason. The longest holders come first.
 */
export interface RestoreView {
  readonly license: License;
  readonly isRemoved: boolean;
  readonly rules: Rules;
  /** Live slots. */
  readonly inUse: number;
  /** Ended borrows whose date is ahead of the right time. */
  readonly borrows: readonly EndedBorrow[];
  /** Slots that these users hold now, of this license and of its features. */
  readonly registrations: readonly Registration[];
  readonly featureSlots: readonly FeatureSlot[];
  /** Slots that they hold of other licenses of the product. */
  readonly elsewhere: readonly Registration[];
  /** Slots of each feature in use. */
  readonly featuresInUse: ReadonlyMap<string, number>;
}

/** `now`: the time before the clock goes back to `to`. */
export function decideRestore(view: RestoreView, now: Instant, to: Instant, by: Actor): Restoration {
  const plan = new Plan(view, to, by);
  const borrows = view.borrows
    .filter((borrow) => !isReplaced(borrow, view.elsewhere, now) && !isOfWrongTime(borrow, view.license, to))
    .sort(byAge);
  const isBack = ({ user }: EndedBorrow) => plan.holders.has(user);
  const own = borrows.filter(({ feature }) => feature === WHOLE_LICENSE);
  for (const borrow of own.filter(isBack)) plan.restoreSlot(borrow);
  for (const borrow of own.filter((one) => !isBack(one))) plan.restoreSlot(borrow);
  for (const borrow of borrows.filter(({ feature }) => feature !== WHOLE_LICENSE))
    plan.restoreFeature(borrow);
  return plan.finish();
}

/** Returns whether the user has borrowed another license of the product since. */
function isReplaced(borrow: EndedBorrow, elsewhere: readonly Registration[], now: Instant): boolean {
  return elsewhere.some(
    ({ user, borrowedUntil, registeredAt }) =>
      user === borrow.user &&
      borrowedUntil !== null &&
      borrowedUntil > now &&
      registeredAt >= borrow.borrowedUntil,
  );
}

/** A borrow that was made in the wrong time, for longer than allowed at the right one, has really ended. */
function isOfWrongTime(
  { feature, registeredAt, borrowedUntil }: EndedBorrow,
  license: License,
  to: Instant,
): boolean {
  const lending = feature === WHOLE_LICENSE ? license : findFeature(license, feature)?.floating;
  const longest = plus(to, (lending?.maxBorrowHours ?? 0) * HOUR_MS + BORROW_TOLERANCE_MS);
  return registeredAt > to && borrowedUntil > longest;
}

function byAge(a: EndedBorrow, b: EndedBorrow): number {
  return a.registeredAt - b.registeredAt || (a.user < b.user ? -1 : 1);
}

/** A user without a slot needs a free one; a holder needs none unless the license is over its limit. */
function refuseShort(lender: Omit<Lender, 'nextFreeAt'>, isHeld: boolean): Refused | null {
  const { slots, inUse } = lender;
  const isShort = isHeld ? inUse > slots : inUse >= slots;
  return isShort ? refuseFull({ ...lender, nextFreeAt: null }) : null;
}

/** What was decided so far: each borrow takes its slot before the next one is judged. */
class Plan {
  readonly holders: Map<string, Registration>;
  readonly #view: RestoreView;
  readonly #to: Instant;
  readonly #by: Actor;
  readonly #featuresInUse: Map<string, number>;
  #inUse: number;
  readonly #restored: NamedBorrow[] = [];
  readonly #lost: LostBorrow[] = [];
  readonly #changes: Change[] = [];
  readonly #events: LicenseEvent[] = [];
  readonly #history: UsageEvent[] = [];

  constructor(view: RestoreView, to: Instant, by: Actor) {
    this.#view = view;
    this.#to = to;
    this.#by = by;
    this.#inUse = view.inUse;
    this.#featuresInUse = new Map(view.featuresInUse);
    this.holders = new Map(view.registrations.map((held) => [held.user, held]));
  }

  restoreSlot(borrow: EndedBorrow): void {
    const held = this.holders.get(borrow.user) ?? null;
    const until = this.#judge(borrow) ?? this.#chooseUntil(borrow, held);
    if (typeof until === 'number') this.#lendSlot(borrow, held, until);
    else this.#lose(borrow, until);
  }

  #chooseUntil(borrow: EndedBorrow, held: Registration | null): Instant | Refused {
    const { license } = this.#view;
    const until = resolveLicenseUntil(borrow.borrowedUntil, license, null, this.#to);
    if (typeof until !== 'number') return until;
    const lender = { name: license.product, slots: license.slots, inUse: this.#inUse };
    return refuseShort(lender, held !== null) ?? until;
  }

  #lendSlot({ feature: _, ...slot }: EndedBorrow, held: Registration | null, until: Instant): void {
    const { user, host, registeredAt } = held ?? slot;
    const registration: Registration = {
      ...(held ?? slot),
      registeredAt: earlier(registeredAt, this.#to),
      borrowedUntil: until,
      endsAt: later(until, heartbeatEnd(this.#view.license, this.#to)),
    };
    this.holders.set(user, registration);
    this.#changes.push({ kind: 'put_registration', registration, before: held });
    if (held === null) {
      this.#inUse += 1;
      this.#events.push({ kind: 'slot_lent', user, hostname: host.hostname });
      this.#grant(WHOLE_LICENSE, registration, this.#inUse);
    }
    this.#history.push(...recordBorrow(WHOLE_LICENSE, held, this.#to));
    this.#recordRestored({ ...slot, feature: WHOLE_LICENSE }, until);
  }

  restoreFeature(borrow: EndedBorrow): void {
    const feature = this.#judge(borrow) ?? chooseFloating(this.#view.license, borrow.feature, this.#to);
    const until = 'kind' in feature ? feature : this.#chooseFeatureUntil(borrow, feature);
    if ('kind' in feature || typeof until !== 'number') this.#lose(borrow, until as Refused);
    else this.#lendFeature(borrow, feature, until);
  }

  #chooseFeatureUntil(borrow: EndedBorrow, feature: FloatingFeature): Instant | Refused {
    const { user } = borrow;
    const holder = this.holders.get(user);
    if (holder === undefined) return refuseNotHeld(this.#view.license, user);
    const { code, floating } = feature;
    const until = resolveFeatureUntil(borrow.borrowedUntil, feature, holder, this.#to);
    if (typeof until !== 'number') return until;
    const lender = { name: code, slots: floating.slots, inUse: this.#featuresInUse.get(code) ?? 0 };
    return refuseShort(lender, this.#findFeatureSlot(borrow) !== null) ?? until;
  }

  #lendFeature(borrow: EndedBorrow, feature: FloatingFeature, until: Instant): void {
    const { code } = feature;
    const { user } = borrow;
    const held = this.#findFeatureSlot(borrow);
    const slot: FeatureSlot = {
      feature: code,
      user,
      registeredAt: earlier((held ?? borrow).registeredAt, this.#to),
      borrowedUntil: until,
      endsAt: later(until, featureHeartbeatEnd(this.#view.license, feature, this.#to)),
      programs: (held ?? borrow).programs,
    };
    this.#changes.push({ kind: 'put_feature_slot', slot, isNew: held === null });
    if (held === null) {
      const inUse = (this.#featuresInUse.get(code) ?? 0) + 1;
      this.#featuresInUse.set(code, inUse);
      this.#events.push({ kind: 'feature_lent', feature: code, user });
      this.#grant(code, this.holders.get(user) as Registration, inUse);
    }
    this.#history.push(...recordBorrow(code, held, this.#to));
    this.#recordRestored(borrow, until);
  }

  #grant(feature: string, holder: Registration, inUse: number): void {
    this.#history.push({ kind: 'granted', feature, at: this.#to, person: personOf(holder), inUse });
  }

  #findFeatureSlot({ user, feature }: EndedBorrow): FeatureSlot | null {
    return this.#view.featureSlots.find((slot) => slot.user === user && slot.feature === feature) ?? null;
  }

  /** What refuses any kind of borrow. */
  #judge({ user, host, origin, feature: lender }: EndedBorrow): Refused | null {
    const { license, isRemoved, rules } = this.#view;
    if (isRemoved) return refuse('license_not_found', `The license ${license.id} was removed.`);
    const asker = origin === null ? { user, host } : { user, host, by: { name: user, address: origin } };
    const feature = lender === WHOLE_LICENSE ? null : lender;
    return refuseByState(license, this.#to) ?? refuseByRules(rules, asker, license.product, feature);
  }

  #lose(borrow: EndedBorrow, { code, message }: Refused): void {
    const named = this.#name(borrow);
    const { feature, borrowedUntil } = named;
    const { user } = borrow;
    this.#lost.push({ ...named, code, reason: message });
    this.#events.push({ kind: 'borrow_not_restored', feature, user, borrowedUntil, code, by: this.#by });
  }

  #recordRestored(borrow: EndedBorrow, borrowedUntil: Instant): void {
    const named = this.#name(borrow);
    const { feature } = named;
    const { user } = borrow;
    this.#restored.push({ ...named, borrowedUntil });
    this.#events.push({ kind: 'borrow_restored', feature, user, borrowedUntil, by: this.#by });
  }

  #name(borrow: EndedBorrow): NamedBorrow {
    const { license } = this.#view;
    return {
      licenseId: license.id,
      product: license.product,
      feature: borrow.feature === WHOLE_LICENSE ? null : borrow.feature,
      user: borrow.spelling ?? borrow.user,
      borrowedUntil: borrow.borrowedUntil,
    };
  }

  finish(): Restoration {
    const changes = this.#changes;
    if (this.#inUse !== this.#view.inUse) changes.push({ kind: 'set_in_use', inUse: this.#inUse });
    const licenseId = this.#view.license.id;
    const recorded = { events: this.#events, history: this.#history };
    return { licenseId, restored: this.#restored, lost: this.#lost, changes, ...recorded };
  }
}
