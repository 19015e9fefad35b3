import { placeOf } from '@berth/protocol/address-range';
import type { Instant } from '../nouns/instant.ts';
import type { Person } from '../rules/groups.ts';
import type { CountedAs } from '../rules/judge-slot.ts';
import { SlotCounts } from './slot-counts.ts';
import type { StartLicense } from './start-license.ts';

/** A license during a replay. */
export interface PooledLicense {
  facts: StartLicense;
  slots: number;
  isHeld: boolean;
  enabled: boolean;
  active: boolean;
  /** Slots that are held in the log, refused by the rules or not. */
  logged: number;
  readonly counts: SlotCounts;
  readonly features: Map<string, SlotCounts>;
  /** Borrowed slots: all of them, and by the address from which their holders last called. */
  readonly borrowed: SlotCounts;
}

/** A slot of a license or of a feature. */
export interface CountedSlot {
  as: CountedAs;
}

/** A slot that is held in a replay. */
export interface Session extends CountedSlot {
  readonly user: string;
  /** From where its holder last called, as far as the log says. */
  place: Omit<Person, 'user'>;
  /** For which place it counts, with its features. */
  countedAt: Omit<Person, 'user'>;
  /** Where the rules have put it, which may be another license than in the log. */
  readonly on: PooledLicense;
  readonly features: Map<string, CountedSlot>;
  borrowedUntil: Instant | null;
}

/** All licenses of a product, the most recently added last. */
export class Pool {
  readonly product: string;
  readonly licenses = new Map<number, PooledLicense>();

  constructor(product: string) {
    this.product = product;
  }

  add(facts: StartLicense): PooledLicense {
    const { slots, isHeld, enabled, active } = facts;
    const counts = { counts: new SlotCounts(), features: new Map(), borrowed: new SlotCounts() };
    const license: PooledLicense = { facts, slots, isHeld, enabled, active, logged: 0, ...counts };
    this.licenses.set(facts.id, license);
    return license;
  }

  listUsable(now: Instant): readonly PooledLicense[] {
    return [...this.licenses.values()].filter((license) => isUsable(license, now));
  }

  /** The newest with a free slot; a request that names a license gets that one's slots only. */
  choose(named: PooledLicense | null, now: Instant): PooledLicense | null {
    const open = named === null ? this.listUsable(now) : [named];
    return open.findLast((license) => countFree(license) > 0) ?? null;
  }

  /**
   * The license that a request named; `null`: probably none. The log does not say, but then it is the newest
   * that had a free slot, or the newest of all if the request was refused.
   */
  findNamed(license: PooledLicense, isServed: boolean, now: Instant): PooledLicense | null {
    const usable = this.listUsable(now);
    const newest = isServed ? usable.findLast(({ logged, slots }) => logged < slots) : usable.at(-1);
    return newest === undefined || newest === license ? null : license;
  }
}

export function isUsable({ facts, isHeld, enabled, active }: PooledLicense, now: Instant): boolean {
  const { startsAt, endsAt } = facts;
  if (!isHeld || !enabled || !active) return false;
  return (startsAt === null || startsAt <= now) && (endsAt === null || now < endsAt);
}

/** A license that has become smaller has nothing left, not less. */
export function countFree({ slots, counts }: PooledLicense): number {
  return Math.max(0, slots - counts.held);
}

export function featureCounts({ features }: PooledLicense, feature: string): SlotCounts {
  const counts = features.get(feature) ?? new SlotCounts();
  features.set(feature, counts);
  return counts;
}

/** A feature whose slots are not known is never full. */
export function countFeatureFree(license: PooledLicense, feature: string): number {
  const slots = license.facts.features.get(feature) ?? Number.MAX_SAFE_INTEGER;
  return Math.max(0, slots - featureCounts(license, feature).held);
}

export function put(session: Session): void {
  session.on.counts.add(session.as, 1);
}

/** Gives a slot back, with its features. */
export function takeOff(session: Session): void {
  dropAllFeatures(session);
  endBorrow(session);
  session.on.counts.add(session.as, -1);
}

/** As if the slot had been returned, until the function that it returns is called. */
export function setAside({ as, on, borrowedUntil, ...session }: Session): () => void {
  const count = (by: 1 | -1) => {
    on.counts.add(as, by);
    if (borrowedUntil !== null) on.borrowed.add(borrowedAs(session), by);
  };
  count(-1);
  return () => count(1);
}

export function putFeature(session: Session, feature: string, as: CountedAs): CountedSlot {
  dropFeature(session, feature);
  const slot = { as };
  session.features.set(feature, slot);
  featureCounts(session.on, feature).add(as, 1);
  return slot;
}

export function dropAllFeatures(session: Session): void {
  for (const feature of [...session.features.keys()]) dropFeature(session, feature);
}

export function dropFeature({ features, on }: Session, feature: string): void {
  const slot = features.get(feature);
  if (slot === undefined) return;
  features.delete(feature);
  featureCounts(on, feature).add(slot.as, -1);
}

export function beginBorrow(session: Session, until: Instant): void {
  endBorrow(session);
  session.borrowedUntil = until;
  session.on.borrowed.add(borrowedAs(session), 1);
}

export function endBorrow(session: Session): void {
  if (session.borrowedUntil !== null) session.on.borrowed.add(borrowedAs(session), -1);
  session.borrowedUntil = null;
}

/** The holder calls from elsewhere, and a borrow counts there, whatever the rules say. */
export function moveTo(session: Session, place: Session['place']): void {
  const { borrowedUntil, on } = session;
  if (borrowedUntil !== null) on.borrowed.add(borrowedAs(session), -1);
  session.place = place;
  if (borrowedUntil !== null) on.borrowed.add(borrowedAs(session), 1);
}

function borrowedAs({ place: { address } }: Pick<Session, 'place'>): CountedAs {
  return { groups: '', host: null, address: address === null ? null : placeOf(address) };
}
