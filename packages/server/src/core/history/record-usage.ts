import type { LicenseCommand } from '../command.ts';
import type { Decision } from '../decision.ts';
import { addressOf } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import { type FeatureSlot, findFeature } from '../nouns/feature-slot.ts';
import { earlier, type Instant } from '../nouns/instant.ts';
import { isLive, type Registration } from '../nouns/registration.ts';
import type { Refused } from '../outcome.ts';
import type { LicenseView } from '../view.ts';
import type { Person, UsageEvent } from './usage-event.ts';

/** Adds the usage events of a decision for the history. Most decisions are renewals, which have none. */
export function withHistory(
  decision: Decision,
  command: LicenseCommand,
  view: LicenseView,
  now: Instant,
): Decision {
  const { events, outcome } = decision;
  if (events.length === 0 && outcome.kind !== 'refused') return decision;
  const history: UsageEvent[] = [];
  for (const event of events) history.push(...usageOf(event, view, decision, now));
  if (outcome.kind === 'refused') history.push(...recordDenial(command, view, decision, now));
  return history.length === 0 ? decision : { outcome, changes: decision.changes, events, history };
}

function usageOf(
  event: LicenseEvent,
  view: LicenseView,
  { outcome }: Decision,
  now: Instant,
): readonly UsageEvent[] {
  switch (event.kind) {
    case 'slot_lent':
      if (outcome.kind !== 'granted') return [];
      return [
        {
          kind: 'granted',
          feature: WHOLE_LICENSE,
          at: now,
          person: personOf(outcome.registration),
          inUse: outcome.inUse,
        },
      ];
    case 'feature_lent':
      if (outcome.kind !== 'measured') return [];
      return [
        {
          kind: 'granted',
          feature: event.feature,
          at: now,
          person: personNamed(event.user, view),
          inUse: outcome.inUse,
        },
      ];
    case 'slot_borrowed':
      return recordBorrow(WHOLE_LICENSE, findLive(event.user, view, now), now);
    case 'feature_borrowed':
      return recordBorrow(event.feature, findLiveFeature(event.feature, event.user, view, now), now);
    case 'slot_returned':
    case 'slot_recalled':
      return [recordEnd(findSlot(event.user, view), now)];
    case 'slot_expired':
      return [recordEnd(findSlot(event.user, view), event.endedAt)];
    case 'feature_returned':
      return [recordNamedFeatureEnd(event, view, now)];
    case 'feature_expired':
      return [recordNamedFeatureEnd(event, view, event.endedAt)];
    case 'all_slots_returned':
      return [...recordAllFeatures(view, now), ...recordAll(view, now)];
    case 'all_features_returned':
      return recordAllFeatures(view, now);
    case 'consumption_added':
      return [{ kind: 'consumed', feature: event.feature ?? WHOLE_LICENSE, at: now, amount: event.count }];
    default:
      return [];
  }
}

/** A borrow may begin, or get another date; only the first is a change. */
export function recordBorrow(
  feature: string,
  held: Pick<Registration, 'borrowedUntil'> | null,
  now: Instant,
): readonly UsageEvent[] {
  const lastUntil = held?.borrowedUntil ?? null;
  if (lastUntil !== null && lastUntil > now) return [];
  return [{ kind: 'borrowed', feature, at: now, lastUntil }];
}

function recordEnd(slot: Registration, at: Instant): UsageEvent {
  const { registeredAt: heldSince, borrowedUntil } = slot;
  return { kind: 'ended', feature: WHOLE_LICENSE, at, person: personOf(slot), heldSince, borrowedUntil };
}

function recordFeatureEnd(
  { feature, user, registeredAt: heldSince, borrowedUntil }: FeatureSlot,
  person: Person | undefined,
  at: Instant,
): UsageEvent {
  return { kind: 'ended', feature, at, person: person ?? personNamedOnly(user), heldSince, borrowedUntil };
}

function recordNamedFeatureEnd(
  { feature, user }: Pick<FeatureSlot, 'feature' | 'user'>,
  view: LicenseView,
  at: Instant,
): UsageEvent {
  return recordFeatureEnd(findFeatureSlot(feature, user, view), personNamed(user, view), at);
}

function personNamedOnly(user: string): Person {
  return { user, host: null, address: null };
}

function recordAll(view: LicenseView, now: Instant): readonly UsageEvent[] {
  const live = view.listAll().registrations.filter((slot) => isLive(slot, now));
  return live.map((slot) => recordEnd(slot, now));
}

/** Those that have ended already, and are removed with the others, ended at their own time. */
function recordAllFeatures(view: LicenseView, now: Instant): readonly UsageEvent[] {
  const collected = new Set(view.endedFeatureSlots.map(nameOf));
  const { registrations, featureSlots } = view.listAll();
  const persons = new Map(registrations.map((slot) => [slot.user, personOf(slot)]));
  const rest = featureSlots.filter((slot) => !collected.has(nameOf(slot)));
  return rest.map((slot) => recordFeatureEnd(slot, persons.get(slot.user), earlier(slot.endsAt, now)));
}

function nameOf({ feature, user }: Pick<FeatureSlot, 'feature' | 'user'>): string {
  return JSON.stringify([feature, user]);
}

/** The history records every denial, also one that the audit log only counts. */
function recordDenial(
  command: LicenseCommand,
  view: LicenseView,
  { changes, outcome }: Decision,
  now: Instant,
): readonly UsageEvent[] {
  const isDenial = changes.some(({ kind }) => kind === 'put_denial' || kind === 'put_place_denial');
  if (!isDenial || !('user' in command)) return [];
  const { code, details } = outcome as Refused;
  const feature = ('feature' in command ? command.feature : null) ?? WHOLE_LICENSE;
  const host = 'host' in command ? (command.host?.hostname ?? null) : null;
  const address = addressOf('by' in command ? command.by : undefined);
  const { license } = view;
  const inUse = numberIn(details.inUse);
  return [
    {
      kind: 'denied',
      feature,
      at: now,
      person: { user: command.user ?? '', host, address },
      reason: code,
      rule: typeof details.rule === 'string' ? details.rule : '',
      slots: numberIn(details.slots) ?? findFeature(license, feature)?.floating?.slots ?? license.slots,
      inUse,
      // A pool adds up the use of several licenses.
      borrowed:
        inUse !== null && feature === WHOLE_LICENSE && !('licenses' in details) ? view.countBorrowed() : null,
      nextFreeAt: numberIn(details.nextFreeAt) as Instant | null,
    },
  ];
}

function numberIn(value: Refused['details'][string] | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

export function personOf({ user, host, origin }: Pick<Registration, 'user' | 'host' | 'origin'>): Person {
  return { user, host: host.hostname, address: origin };
}

/** As much as the view knows of the user. */
function personNamed(user: string, view: LicenseView): Person {
  const slot = findKnown(user, view);
  return slot === undefined ? personNamedOnly(user) : personOf(slot);
}

function findKnown(user: string, view: LicenseView) {
  const { registration, ended } = view;
  if (registration?.user === user) return registration;
  const isOf = (slot: Registration) => slot.user === user;
  return ended.find(isOf) ?? view.listHolders().find((holder) => isOf(holder.registration))?.registration;
}

/** An event about a slot comes from the view, so the slot is there. */
function findSlot(user: string, view: LicenseView): Registration {
  return findKnown(user, view) as Registration;
}

function findFeatureSlot(feature: string, user: string, view: LicenseView): FeatureSlot {
  const isIt = (slot: FeatureSlot) => slot.feature === feature && slot.user === user;
  const found =
    view.endedFeatureSlots.find(isIt) ??
    view.listFeatureSlots().find(isIt) ??
    view
      .listHolders()
      .flatMap(({ featureSlots }) => featureSlots)
      .find(isIt);
  return found as FeatureSlot;
}

function findLive(user: string, { registration }: LicenseView, now: Instant): Registration | null {
  return registration?.user === user && isLive(registration, now) ? registration : null;
}

function findLiveFeature(feature: string, user: string, view: LicenseView, now: Instant): FeatureSlot | null {
  if (findLive(user, view, now) === null) return null;
  const slot = view.listFeatureSlots().find((one) => one.feature === feature && one.user === user);
  return slot !== undefined && slot.endsAt > now ? slot : null;
}
