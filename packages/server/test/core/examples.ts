import assert from 'node:assert/strict';
import { isWithin, parseAddress } from '@berth/protocol/address-range';
import type {
  AddConsumption,
  Borrow,
  BorrowUntil,
  LicenseCommand,
  Recall,
  Register,
  RegisterFeature,
  Release,
  ReleaseFeature,
  Unregister,
} from '../../src/core/command.ts';
import { decide } from '../../src/core/decide.ts';
import { countedPerson } from '../../src/core/lending/count-slots.ts';
import type { Actor } from '../../src/core/nouns/actor.ts';
import { type Meter, WHOLE_LICENSE } from '../../src/core/nouns/consumption.ts';
import { DEMO_LICENSE } from '../../src/core/nouns/demo-license.ts';
import type { EndedBorrow } from '../../src/core/nouns/ended-borrow.ts';
import type { ConsumptionLimits, Feature } from '../../src/core/nouns/feature.ts';
import type { FeatureSlot } from '../../src/core/nouns/feature-slot.ts';
import { type Instant, instant, MINUTE_MS, plus } from '../../src/core/nouns/instant.ts';
import { type License, type LicenseId, licenseId } from '../../src/core/nouns/license.ts';
import { type HostInfo, isBorrowed, isLive, type Registration } from '../../src/core/nouns/registration.ts';
import type { Refused } from '../../src/core/outcome.ts';
import { countAs, findCounting } from '../../src/core/rules/judge-slot.ts';
import {
  type Denied,
  EMPTY_RULE_SET,
  NO_NAMES,
  type ProductRules,
  type RuleSet,
} from '../../src/core/rules/rule-set.ts';
import { NO_RULES, type Rules } from '../../src/core/rules/rules.ts';
import type { SetRules } from '../../src/core/system-command.ts';
import {
  COLLECT_LIMIT,
  type Denial,
  type Holder,
  type Holdings,
  type LicenseView,
  type PlaceDenial,
  type RememberedAnswer,
  type Report,
} from '../../src/core/view.ts';

/** Facts that tests begin with, so that each of them says only what matters to it. */
export const NOW = instant(Date.UTC(2030, 0, 15, 12));

export const LICENSE_ID = licenseId(7);

const HOST: HostInfo = { hostname: 'host-1', address: '10.0.0.1', info: null };

/** Two slots, ten minutes, borrowing for up to a day, valid for ever. */
export function exampleLicense(facts: Partial<License> = {}): License {
  return { ...DEMO_LICENSE, id: LICENSE_ID, product: 'cad', slots: 2, maxBorrowHours: 24, ...facts };
}

/** A slot that was lent a minute ago and lives for nine more. */
export function exampleSlot(user: string, facts: Partial<Registration> = {}): Registration {
  return {
    user,
    host: HOST,
    origin: null,
    credential: null,
    registeredAt: plus(NOW, -MINUTE_MS),
    endsAt: plus(NOW, 9 * MINUTE_MS),
    borrowedUntil: null,
    programs: null,
    ...facts,
  };
}

export interface ViewFacts {
  readonly license?: License;
  /** Every stored slot of the license, ended ones included. */
  readonly slots?: readonly Registration[];
  readonly denials?: readonly Denial[];
  readonly placeDenials?: readonly PlaceDenial[];
  readonly staleDenials?: readonly Denial[];
  readonly stalePlaceDenials?: readonly PlaceDenial[];
  /** Every stored feature slot of the license, ended ones included. */
  readonly featureSlots?: readonly FeatureSlot[];
  /** What was counted, of the license or of the feature that the command is about. */
  readonly meter?: Partial<Meter>;
  readonly rememberedAnswer?: RememberedAnswer | null;
  readonly reports?: readonly Report[];
  readonly meters?: readonly Meter[];
  readonly staleAnswers?: number;
  readonly rules?: Rules;
  readonly endedBorrow?: EndedBorrow;
  readonly holders?: readonly Holder[];
  /** Free slots that are kept for those who wait. */
  readonly kept?: number;
}

/** What a store would show of these facts to a command of this user. */
export function exampleView(facts: ViewFacts, user: string | null, now: Instant = NOW): LicenseView {
  const { license = exampleLicense(), slots = [], denials = [], staleDenials = [] } = facts;
  const byEnd = slots.toSorted((a, b) => a.endsAt - b.endsAt);
  const ended = byEnd.filter((slot) => !isLive(slot, now));
  return {
    license,
    rules: facts.rules ?? NO_RULES,
    kept: facts.kept ?? 0,
    ...exampleFeatureView(facts, ended, user, now),
    findAnswer: () => facts.rememberedAnswer ?? null,
    listReports: () => facts.reports ?? [],
    listMeters: () => facts.meters ?? [],
    countStaleAnswers: () => facts.staleAnswers ?? 0,
    storedInUse: slots.length,
    ended: ended.slice(0, COLLECT_LIMIT),
    endedBeyond: Math.max(0, ended.length - COLLECT_LIMIT),
    findNextEnd: () => byEnd.find((slot) => isLive(slot, now))?.endsAt ?? null,
    countBorrowed: () => slots.filter((slot) => isLive(slot, now) && isBorrowed(slot, now)).length,
    registration: slots.find((slot) => slot.user === user) ?? null,
    findEndedBorrow: () => facts.endedBorrow ?? null,
    ...exampleCounts(facts, now),
    listHolders: () => facts.holders ?? [],
    listAll: () => ({ registrations: slots, featureSlots: facts.featureSlots ?? [] }),
    listDenials: (of) => denials.filter((denial) => denial.user === of),
    listPlaceDenials: () => facts.placeDenials ?? [],
    listStaleDenials: () => staleDenials,
    listStalePlaceDenials: () => facts.stalePlaceDenials ?? [],
  };
}

/** What a decision reads of a view besides its head, with the arguments. */
export function readsOf(command: LicenseCommand, view: LicenseView): Readonly<Record<string, unknown[]>> {
  const reads: Record<string, unknown[]> = {};
  const watched = Object.entries(view).map(([name, fact]) => {
    if (typeof fact !== 'function') return [name, fact];
    const read = (...args: unknown[]) => {
      reads[name] = args;
      return fact(...args);
    };
    return [name, read];
  });
  decide(command, Object.fromEntries(watched), NOW);
  return reads;
}

/** A slot of the feature "render" that was lent a minute ago and lives for nine more. */
export function exampleFeatureSlot(user: string, facts: Partial<FeatureSlot> = {}): FeatureSlot {
  const { registeredAt, endsAt } = exampleSlot(user);
  return { feature: 'render', user, registeredAt, endsAt, borrowedUntil: null, programs: null, ...facts };
}

function exampleFeatureView(
  { featureSlots = [], meter = {} }: ViewFacts,
  endedSlots: readonly Registration[],
  user: string | null,
  now: Instant,
) {
  const endedUsers = new Set(endedSlots.map((slot) => slot.user));
  const isOver = (slot: FeatureSlot) => slot.endsAt <= now || endedUsers.has(slot.user);
  const feature = meter.feature ?? WHOLE_LICENSE;
  const ofFeature = featureSlots.filter((slot) => slot.feature === feature);
  const counted = {
    feature,
    windowStart: instant(0),
    total: 0,
    pending: 0,
    reported: 0,
    cloudTotal: null,
    cloudAt: null,
    ...meter,
  };
  return {
    listFeatureSlots: () => featureSlots.filter((slot) => slot.user === user),
    endedFeatureSlots: featureSlots.filter(isOver),
    countFeatureEndedBeyond: () => 0,
    findNextFeatureEnd: () => ofFeature.find((slot) => !isOver(slot))?.endsAt ?? null,
    countFeatureSlots: () => featureSlots.filter((slot) => !isOver(slot)).length,
    meter: { storedInUse: ofFeature.length, ...counted },
  };
}

/** What the rules count, if the license is the only one of its product. */
function exampleCounts(
  { license = exampleLicense(), slots = [], rules = NO_RULES }: ViewFacts,
  now: Instant,
) {
  const live = slots.filter((slot) => isLive(slot, now));
  const free = Math.max(0, license.slots - live.length);
  return {
    readHoldings(feature: string | null): Holdings {
      const own = findCounting(rules.set, license.product, feature);
      const counted = own === null ? [] : live.map((slot) => countAs(rules.set, own, countedPerson(slot)));
      const byGroups = Map.groupBy(counted, ({ groups }) => groups);
      const held = {
        byGroups: new Map(Array.from(byGroups, ([groups, list]) => [groups, list.length])),
        countAt: (kind: 'host' | 'address', place: string) =>
          counted.filter((one) => one[kind] === place).length,
      };
      const supply = { name: license.product, slots: license.slots, free };
      return {
        inPool: held,
        reserved: held,
        supply,
        freeAfterReturn: Math.max(0, license.slots - live.length + 1),
      };
    },
    countPoolBorrows(range: Parameters<LicenseView['countPoolBorrows']>[0]) {
      const isFrom = ({ origin }: Registration) => {
        const address = origin === null ? null : parseAddress(origin);
        return range === null || (address !== null && isWithin(address, range));
      };
      const borrowed = live.filter((slot) => isBorrowed(slot, now) && isFrom(slot)).length;
      return { slots: license.slots, borrowed };
    },
  };
}

/** Rules that deny what is given, and nothing else. */
export function denying(deny: Partial<Denied>): RuleSet {
  return { ...EMPTY_RULE_SET, deny: { ...NO_NAMES, ...deny } };
}

/** Rules of the product "cad", and nothing else. */
export function ruling(own: Partial<ProductRules>): RuleSet {
  return { ...EMPTY_RULE_SET, products: { cad: { ...NO_OWN_RULES, ...own } } };
}

const NO_OWN_RULES: ProductRules = {
  ...{ allow: null, deny: NO_NAMES, reserve: [], limit: [] },
  ...{ borrow: null, priority: [], features: {} },
};

/** So many slots of the product for each address, and so many of them borrowed; `null`: no limit. */
export function limitingAddresses(slots: number | null, borrows: number | null = null): RuleSet {
  const line = { line: 1, during: null };
  const borrowing = { ...line, allow: null, hours: null, keep: 0, perAddress: borrows };
  return ruling({
    limit: slots === null ? [] : [{ ...line, slots, of: { each: 'address' } }],
    borrow: borrows === null ? null : borrowing,
  });
}

/** The first revision. */
export function inForce(set: RuleSet): Rules {
  return { ...NO_RULES, set, revision: 1 };
}

export function setRules(rules: RuleSet, by: Actor = 'server'): SetRules {
  return { kind: 'set_rules', text: JSON.stringify(rules), rules, by };
}

/** Every refusal says in a sentence what is wrong. */
export function expectRefused(outcome: { readonly kind: string }): Refused {
  assert.equal(outcome.kind, 'refused', JSON.stringify(outcome));
  const refused = outcome as Refused;
  assert.match(refused.message, /[.?)]$/);
  return refused;
}

interface Aim {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
}

const ANY: Aim = { product: null, licenseId: null };

export function register(user: string, facts: Partial<Register> = {}, host: HostInfo = HOST): Register {
  return { kind: 'register', user, host, ...ANY, ...facts };
}

export function borrow(user: string, until: BorrowUntil, facts: Partial<Borrow> = {}): Borrow {
  return { kind: 'borrow', user, host: HOST, until, ...ANY, ...facts };
}

export function unregister(user: string, facts: Partial<Unregister> = {}): Unregister {
  return { kind: 'unregister', user, ...ANY, ...facts };
}

/** Somebody who asks from this address. */
export function from(address: string) {
  return { by: { name: 'client', address } };
}

export function release(user: string, aim: Partial<Aim> = {}): Release {
  return { kind: 'release', user, by: 'admin', ...ANY, ...aim };
}

export function recall(user: string, aim: Partial<Aim> = {}): Recall {
  return { kind: 'recall', user, by: 'admin', ...ANY, ...aim };
}

/** Ten, without overage, for ever. */
export function exampleLimits(facts: Partial<ConsumptionLimits> = {}): ConsumptionLimits {
  return { ...DEMO_LICENSE.consumption, max: 10, period: null, ...facts };
}

/** The feature "export" counts; "render" has two slots of its own. */
export function exampleFeature(code: 'export' | 'render', facts: Partial<Feature> = {}): Feature {
  const feature = DEMO_LICENSE.features.find((one) => one.code === code) as Feature;
  return { ...feature, ...facts };
}

/** Adds to the license's total, for nobody in particular. */
export function consume(count: number, facts: Partial<AddConsumption> = {}): AddConsumption {
  const narrowing = { allowOverages: null, maxOverages: null };
  return {
    kind: 'add_consumption',
    feature: null,
    user: null,
    count,
    narrowing,
    idempotency: null,
    ...ANY,
    ...facts,
  };
}

export function registerFeature(user: string, facts: Partial<RegisterFeature> = {}): RegisterFeature {
  return { kind: 'register_feature', feature: 'render', user, until: null, ...ANY, ...facts };
}

export function releaseFeature(user: string, facts: Partial<ReleaseFeature> = {}): ReleaseFeature {
  return { kind: 'release_feature', feature: 'render', user, ...ANY, ...facts };
}
