import type {
  AddConsumption,
  Borrow,
  BorrowUntil,
  Recall,
  Register,
  RegisterFeature,
  Release,
  ReleaseFeature,
  Unregister,
} from './command.ts';
import { type Meter, WHOLE_LICENSE } from './nouns/consumption.ts';
import { DEMO_LICENSE } from './nouns/demo-license.ts';
import type { ConsumptionLimits, Feature } from './nouns/feature.ts';
import type { FeatureSlot } from './nouns/feature-slot.ts';
import { type Instant, instant, MINUTE_MS, plus } from './nouns/instant.ts';
import { type License, type LicenseId, licenseId } from './nouns/license.ts';
import { type HostInfo, isBorrowed, isLive, type Registration } from './nouns/registration.ts';
import { type DenyList, NO_RULES, type Rules } from './rules/rules.ts';
import {
  COLLECT_LIMIT,
  type Denial,
  type LicenseView,
  type PlaceDenial,
  type RememberedAnswer,
  type Report,
} from './view.ts';

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
  readonly endedBorrow?: LicenseView['endedBorrow'];
  readonly crowd?: LicenseView['crowd'];
  readonly holders?: LicenseView['holders'];
}

/** What a store would show of these facts to a command of this user. */
export function exampleView(facts: ViewFacts, user: string | null, now: Instant = NOW): LicenseView {
  const { license = exampleLicense(), slots = [], denials = [], staleDenials = [] } = facts;
  const byEnd = slots.toSorted((a, b) => a.endsAt - b.endsAt);
  const ended = byEnd.filter((slot) => !isLive(slot, now));
  return {
    license,
    rules: facts.rules ?? NO_RULES,
    ...exampleFeatureView(facts, ended, user, now),
    rememberedAnswer: facts.rememberedAnswer ?? null,
    reports: facts.reports ?? [],
    meters: facts.meters ?? [],
    staleAnswers: facts.staleAnswers ?? 0,
    storedInUse: slots.length,
    ended: ended.slice(0, COLLECT_LIMIT),
    endedBeyond: Math.max(0, ended.length - COLLECT_LIMIT),
    nextEndsAt: byEnd.find((slot) => isLive(slot, now))?.endsAt ?? null,
    borrowed: slots.filter((slot) => isLive(slot, now) && isBorrowed(slot, now)).length,
    registration: slots.find((slot) => slot.user === user) ?? null,
    endedBorrow: facts.endedBorrow ?? null,
    crowd: facts.crowd ?? null,
    holders: facts.holders ?? [],
    all: { registrations: slots, featureSlots: facts.featureSlots ?? [] },
    denials: denials.filter((denial) => denial.user === user),
    placeDenials: facts.placeDenials ?? [],
    staleDenials,
    stalePlaceDenials: facts.stalePlaceDenials ?? [],
  };
}

/** A slot of the feature "render" that was lent a minute ago and lives for nine more. */
export function exampleFeatureSlot(user: string, facts: Partial<FeatureSlot> = {}): FeatureSlot {
  const { registeredAt, endsAt } = exampleSlot(user);
  return { feature: 'render', user, registeredAt, endsAt, borrowedUntil: null, ...facts };
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
    featureSlots: featureSlots.filter((slot) => slot.user === user),
    endedFeatureSlots: featureSlots.filter(isOver),
    featureEndedBeyond: 0,
    featureNextEndsAt: ofFeature.find((slot) => !isOver(slot))?.endsAt ?? null,
    featureSlotCount: featureSlots.filter((slot) => !isOver(slot)).length,
    meter: { storedInUse: ofFeature.length, ...counted },
  };
}

/** Rules that deny what is given, and nothing else. */
export function denying(deny: Partial<DenyList>): Rules {
  return { ...NO_RULES, deny: { ...NO_RULES.deny, ...deny } };
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
