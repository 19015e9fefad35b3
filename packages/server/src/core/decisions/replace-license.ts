import type { Decision } from '../decision.ts';
import { personOf, recordBorrow, withHistory } from '../history/record-usage.ts';
import type { Person } from '../history/usage-event.ts';
import { endByValidity } from '../lending/change-license.ts';
import { metersOf, reportedMeterOf } from '../lending/meter-need.ts';
import type { Actor } from '../nouns/actor.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import { type FeatureSlot, findFeature } from '../nouns/feature-slot.ts';
import { type Instant, later } from '../nouns/instant.ts';
import type { LicenseId } from '../nouns/license.ts';
import { isBorrowed, mergePrograms, type Registration } from '../nouns/registration.ts';
import type { LicenseView } from '../view.ts';
import { releaseAll } from './release-all.ts';

/**
 * A license goes on under another id, with all slots and what the vendor has not counted yet. Nobody is
 * thrown out: if more arrive than there are slots, no others are lent until there is room. Whatever has ended
 * was collected before. This is what leaves the earlier license.
 */
export function leaveForGood(from: LicenseView, replacedBy: LicenseId, by: Actor, now: Instant): Decision {
  const { license } = from;
  const command = { kind: 'release_all', licenseId: license.id, by } as const;
  const released = withHistory(releaseAll.decide(command, from, now), command, from, now);
  const counted = moveCounts(from, from, -1, now);
  const removed = { kind: 'license_removed', product: license.product, inUse: 0, replacedBy, by } as const;
  return {
    ...released,
    changes: [
      ...released.changes,
      ...counted.map(({ change }) => change),
      ...from.listReports().map(({ id: reportId }) => ({ kind: 'remove_report', reportId }) as const),
      { kind: 'put_license', license: { ...license, tie: { ...license.tie, replacedBy } } },
      { kind: 'remove_license' },
    ],
    events: [...released.events, ...counted.map(({ event }) => event), removed],
  };
}

/** What arrives at the license that takes its place. In its history, slots are held from now on. */
export function joinLicense(from: LicenseView, to: LicenseView, by: Actor, now: Instant): Decision {
  const [leaving, here] = [from.listAll(), to.listAll()];
  const slots = joinSlots(leaving.registrations, here.registrations, now);
  const added = slots.filter(({ before }) => before === null).map(({ slot }) => slot);
  const inUse = to.storedInUse + added.length;
  const hasFeature = ({ feature }: FeatureSlot) => findFeature(to.license, feature)?.floating != null;
  const features = joinSlots(leaving.featureSlots.filter(hasFeature), here.featureSlots, now);
  const addedFeatures = features.filter(({ before }) => before === null).map(({ slot }) => slot);
  const featuresInUse = Map.groupBy([...here.featureSlots, ...addedFeatures], ({ feature }) => feature);
  const people = new Map(leaving.registrations.map((slot) => [slot.user, personOf(slot)]));
  const counted = moveCounts(from, to, 1, now);
  const grant = (user: string, feature: string, count: number) =>
    ({ kind: 'granted', feature, at: now, person: people.get(user) as Person, inUse: count }) as const;
  return {
    outcome: { kind: 'done', count: added.length },
    changes: [
      ...slots.map(({ slot, before }) => ({ kind: 'put_registration', registration: slot, before }) as const),
      ...features.map(
        ({ slot, before }) => ({ kind: 'put_feature_slot', slot, isNew: before === null }) as const,
      ),
      { kind: 'set_in_use', inUse },
      ...endByValidity(to.license),
      ...counted.map(({ change }) => change),
      ...from.listReports().map((report) => ({ kind: 'add_report', report }) as const),
    ],
    events: [
      ...added.map(({ user, host }) => ({ kind: 'slot_lent', user, hostname: host.hostname, by }) as const),
      ...addedFeatures.map(({ user, feature }) => ({ kind: 'feature_lent', feature, user, by }) as const),
      ...slots.flatMap(({ slot: { user }, borrow: borrowedUntil }) =>
        borrowedUntil === null ? [] : [{ kind: 'slot_borrowed', user, borrowedUntil, by } as const],
      ),
      ...features.flatMap(({ slot: { user, feature }, borrow: borrowedUntil }) =>
        borrowedUntil === null
          ? []
          : [{ kind: 'feature_borrowed', feature, user, borrowedUntil, by } as const],
      ),
      ...counted.map(({ event }) => ({ ...event, by })),
    ],
    history: [
      ...added.map(({ user }) => grant(user, WHOLE_LICENSE, inUse)),
      ...addedFeatures.map(({ user, feature }) =>
        grant(user, feature, featuresInUse.get(feature)?.length ?? 0),
      ),
      ...slots.flatMap(({ before, borrow }) =>
        borrow === null ? [] : recordBorrow(WHOLE_LICENSE, before, now),
      ),
      ...features.flatMap(({ slot, before, borrow }) =>
        borrow === null ? [] : recordBorrow(slot.feature, before, now),
      ),
    ],
  };
}

/** Whoever holds a slot of both goes on with one, until the later end. */
function joinSlots<S extends Registration | FeatureSlot>(
  leaving: readonly S[],
  here: readonly S[],
  now: Instant,
): readonly Joined<S>[] {
  const nameOf = (slot: S) => JSON.stringify(['feature' in slot ? slot.feature : null, slot.user]);
  const held = new Map(here.map((slot) => [nameOf(slot), slot]));
  return leaving.map((slot) => {
    const before = held.get(nameOf(slot)) ?? null;
    const until = isBorrowed(slot, now) ? slot.borrowedUntil : null;
    if (before === null) {
      return { slot: { ...slot, registeredAt: now, borrowedUntil: until }, before, borrow: until };
    }
    const borrow = (until ?? 0) > (before.borrowedUntil ?? 0) ? until : null;
    const borrowedUntil = borrow ?? before.borrowedUntil;
    const programs = mergePrograms([before.programs, slot.programs]);
    const endsAt = later(slot.endsAt, before.endsAt);
    return { slot: { ...before, endsAt, borrowedUntil, programs }, before, borrow };
  });
}

/** `before`: what the user holds already; `borrow`: the new date, if any. */
interface Joined<S> {
  readonly slot: S;
  readonly before: S | null;
  readonly borrow: Instant | null;
}

/**
 * What the vendor may not have counted yet. Reports keep their ids, so that none is counted twice; whether
 * the cloud's total includes one is not known. `sign`: 1 where it arrives, and -1 where it leaves.
 */
function moveCounts(from: LicenseView, view: LicenseView, sign: 1 | -1, now: Instant) {
  const reports = Map.groupBy(from.listReports(), ({ feature }) => feature);
  return from.listMeters(metersOf(from.license, now)).flatMap(({ feature: code, pending }) => {
    const own = reports.get(code) ?? [];
    if (pending === 0 && own.length === 0) return [];
    const count = sign * own.reduce((sum, { amount }) => sum + amount, pending);
    const feature = code === WHOLE_LICENSE ? null : code;
    const need = reportedMeterOf({ feature }, view.license, now);
    return view.listMeters([need]).map(({ storedInUse: _, ...known }) => {
      const total = Math.max(0, known.total + count);
      const cloudTotal = own.length === 0 ? known.cloudTotal : null;
      const meter = { ...known, pending: known.pending + sign * pending, total, cloudTotal };
      return {
        change: { kind: 'put_meter', meter } as const,
        event: { kind: 'consumption_added', feature, user: null, count, total } as const,
      };
    });
  });
}
