import type { Change, Decision } from '../decision.ts';
import { personOf, recordBorrow, withHistory } from '../history/record-usage.ts';
import type { UsageEvent } from '../history/usage-event.ts';
import { endByValidity } from '../lending/change-license.ts';
import { metersOf } from '../lending/meter-need.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import { type FeatureSlot, findFeature } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import { isBorrowed, isLive, type Registration } from '../nouns/registration.ts';
import type { LicenseView } from '../view.ts';
import { releaseAll } from './release-all.ts';

/**
 * A license goes on under another id, with all slots and what the vendor has not counted yet. Whoever holds
 * a slot of both keeps that of the new one. Nobody is thrown out: if more arrive than there are slots, no
 * others are lent until there is room.
 */
export function replaceLicense(from: LicenseView, to: LicenseView, by: Actor, now: Instant) {
  const amounts = listUnsettled(from, to, now);
  return { leaving: leave(from, to, amounts, by, now), arriving: arrive(from, to, amounts, by, now) };
}

type Amounts = ReadonlyMap<string, number>;

/** What was counted and may be unknown to the vendor, by feature. */
function listUnsettled(from: LicenseView, to: LicenseView, now: Instant): Amounts {
  const meters = from.listMeters(metersOf(from.license, now));
  const open = [
    ...meters.map(({ feature, pending: amount }) => ({ feature, amount })),
    ...from.listReports(),
  ];
  const byFeature = Map.groupBy(open, ({ feature }) => feature);
  const sum = (feature: string) =>
    (byFeature.get(feature) ?? []).reduce((all, { amount }) => all + amount, 0);
  return new Map(metersOf(to.license, now).map(({ feature }) => [feature, sum(feature)]));
}

function leave(from: LicenseView, to: LicenseView, amounts: Amounts, by: Actor, now: Instant): Decision {
  const released = endAllSlots(from, by, now);
  // What certifies this id must not pass on to another license that gets it.
  const { certificate: _, ...tie } = from.license.tie;
  const replacedBy = to.license.id;
  const counts = moveCounts(from, amounts, -1, now);
  const reports = from.listReports().filter(({ feature }) => amounts.has(feature));
  return {
    ...released,
    changes: [
      ...released.changes,
      ...counts.map(({ change }) => change),
      ...reports.map(({ id: reportId }) => ({ kind: 'remove_report', reportId }) as const),
      { kind: 'put_license', license: { ...from.license, tie: { ...tie, replacedBy } } },
      { kind: 'remove_license' },
    ],
    events: [
      ...released.events,
      ...counts.map(({ event }) => event),
      { kind: 'license_removed', product: from.license.product, inUse: 0, replacedBy, by },
    ],
  };
}

export function endAllSlots(view: LicenseView, by: Actor, now: Instant): Decision {
  const command = { kind: 'release_all', licenseId: view.license.id, by } as const;
  return withHistory(releaseAll.decide(command, view, now), command, view, now);
}

/** `sign`: 1 where the amounts arrive, and -1 where they leave. */
function moveCounts(view: LicenseView, amounts: Amounts, sign: 1 | -1, now: Instant) {
  return view.listMeters(metersOf(view.license, now)).flatMap(({ storedInUse: _, ...meter }) => {
    const count = sign * (amounts.get(meter.feature) ?? 0);
    if (count === 0) return [];
    const total = Math.max(0, meter.total + count);
    const pending = sign === 1 ? meter.pending + count : 0;
    const feature = meter.feature === WHOLE_LICENSE ? null : meter.feature;
    const change: Change = { kind: 'put_meter', meter: { ...meter, total, pending } };
    const event: LicenseEvent = { kind: 'consumption_added', feature, user: null, count, total };
    return [{ change, event }];
  });
}

/** Slots are held from now on, as the history counts them. */
function arrive(from: LicenseView, to: LicenseView, amounts: Amounts, by: Actor, now: Instant): Decision {
  const [leaving, here] = [from.listAll(), to.listAll()];
  const held = new Set(here.registrations.map(({ user }) => user));
  const slots = leaving.registrations
    .filter((slot) => isLive(slot, now) && !held.has(slot.user))
    .map((slot) => ({ ...slot, registeredAt: now }));
  const holders = new Map(slots.map((slot) => [slot.user, slot]));
  const features = leaving.featureSlots
    .filter(({ user, endsAt }) => holders.has(user) && endsAt > now)
    .filter(({ feature }) => findFeature(to.license, feature)?.floating != null)
    .map((slot) => ({ ...slot, registeredAt: now }));
  const featuresInUse = Map.groupBy([...here.featureSlots, ...features], ({ feature }) => feature);
  const inUse = to.storedInUse + slots.length;
  const lent = [
    ...slots.map((slot) => lend(slot, slot, null, inUse, now)),
    ...features.map((slot) => {
      const count = featuresInUse.get(slot.feature)?.length ?? 0;
      return lend(slot, holders.get(slot.user) as Registration, slot.feature, count, now);
    }),
  ];
  const counts = moveCounts(to, amounts, 1, now);
  return {
    outcome: { kind: 'done', count: slots.length },
    changes: [
      ...slots.map((slot) => ({ kind: 'put_registration', registration: slot, before: null }) as const),
      ...features.map((slot) => ({ kind: 'put_feature_slot', slot, isNew: true }) as const),
      { kind: 'set_in_use', inUse },
      ...endByValidity(to.license),
      ...counts.map(({ change }) => change),
    ],
    events: [...lent.flatMap(({ events }) => events), ...counts.map(({ event }) => event)].map((event) => {
      return { ...event, by };
    }),
    history: lent.flatMap(({ history }) => history),
  };
}

/** `feature`: `null` for the license itself. */
function lend(
  slot: Registration | FeatureSlot,
  holder: Registration,
  feature: string | null,
  inUse: number,
  at: Instant,
) {
  const { user, borrowedUntil } = slot;
  const { hostname } = holder.host;
  const code = feature ?? WHOLE_LICENSE;
  const person = personOf(holder);
  const events: LicenseEvent[] = [
    feature === null ? { kind: 'slot_lent', user, hostname } : { kind: 'feature_lent', feature, user },
  ];
  const history: UsageEvent[] = [{ kind: 'granted', feature: code, at, person, inUse }];
  if (borrowedUntil === null || !isBorrowed(slot, at)) return { events, history };
  const borrow = { user, borrowedUntil };
  events.push(
    feature === null
      ? { kind: 'slot_borrowed', ...borrow }
      : { kind: 'feature_borrowed', feature, ...borrow },
  );
  history.push(...recordBorrow(code, null, at));
  return { events, history };
}
