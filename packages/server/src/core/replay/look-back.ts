import { heldMinutes, medianOf } from '../history/grain.ts';
import type { RecordedEvent } from '../nouns/audit-event.ts';
import type { Instant } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import type { Registration } from '../nouns/registration.ts';
import { type StartLicense, startOf, unknownLicense } from './start-license.ts';

/** All events of one chain in one commit. */
export interface ReplayedLink {
  readonly chain: number;
  readonly at: Instant;
  readonly events: readonly RecordedEvent[];
}

/** How things stood when the replay begins. */
export interface Beginning {
  /** The most recently added last. */
  readonly licenses: readonly StartLicense[];
  readonly held: readonly HeldAtStart[];
  /** For how many minutes slots were held, by `medianKey`. */
  readonly medians: ReadonlyMap<string, number>;
}

/** A slot that was lent before the replay begins. */
interface HeldAtStart {
  readonly chain: number;
  readonly user: string;
  /** `null`: the slot of the license. */
  readonly feature: string | null;
  readonly hostname: string | null;
  readonly address: string | null;
  readonly borrowedUntil: Instant | null;
}

export function medianKey(product: string, feature: string | null): string {
  return `${product}\n${feature ?? ''}`;
}

interface Open {
  readonly chain: number;
  readonly user: string;
  readonly feature: string | null;
  hostname: string | null;
  address: string | null;
  borrowedUntil: Instant | null;
  isPlaceKnown: boolean;
  isBorrowKnown: boolean;
  /** `null`: it is held now. */
  endedAt: Instant | null;
}

/**
 * Finds out who held slots at an instant, by walking the log back from now: a slot that is held now, or whose
 * end is met before its beginning, was held then. This needs no event from before, which may be thinned out;
 * but those say from where the slot was taken, so it is worth going on until `isDone`.
 */
export class LookBack {
  readonly #since: Instant;
  readonly #licenses = new Map<number, StartLicense>();
  readonly #open = new Map<string, Open>();
  readonly #durations = new Map<string, Map<number, number>>();
  /** Keys of slots of which older links say more. */
  readonly #sought = new Set<string>();
  /** Slots that one event returned without naming them, by chain; and slots of features. */
  readonly #unnamed = new Map<number, number>();
  readonly #unnamedFeatures = new Map<number, number>();
  /** Met before `since`: an older beginning of the same key is another slot's. */
  readonly #ended = new Set<string>();

  /** `licenses`: those of now, the most recently added first. */
  constructor(since: Instant, licenses: readonly License[]) {
    this.#since = since;
    for (const license of licenses.toReversed()) this.#licenses.set(license.id, startOf(license));
  }

  /** A slot that is held now, with its features. To be called before the first link. */
  hold(
    chain: number,
    { user, host, origin, borrowedUntil }: Registration,
    features: readonly string[],
  ): void {
    const place = { hostname: host.hostname, address: origin };
    const facts = { ...place, borrowedUntil, ...KNOWN, endedAt: null };
    for (const feature of [null, ...features]) {
      this.#open.set(keyOf(chain, user, feature), { chain, user, feature, ...facts });
    }
  }

  /** The newest first. */
  take({ chain, at, events }: ReplayedLink): void {
    for (const event of events.toReversed()) {
      if (at >= this.#since) this.#undo(chain, at, event);
      else this.#lookUp(chain, event);
    }
  }

  /** Whether older links can add nothing. */
  get isDone(): boolean {
    if (this.#sought.size > 0 || this.#unnamed.size > 0 || this.#isAnyUnsure()) return false;
    return [...this.#unnamedFeatures.values()].every((left) => left === 0);
  }

  finish(): Beginning {
    return {
      licenses: [...this.#licenses.values()],
      held: [...this.#open.values()],
      medians: new Map(
        [...this.#durations].map(([key, counts]) => {
          const counted = [...counts].map(([value, count]) => ({ value, count }));
          return [key, medianOf(counted) ?? 1];
        }),
      ),
    };
  }

  #isAnyUnsure(): boolean {
    return [...this.#licenses.values()].some(({ isUnsure }) => isUnsure);
  }

  #undo(chain: number, at: Instant, event: RecordedEvent): void {
    switch (event.kind) {
      case 'slot_lent':
        this.#begin(chain, event.user, null, at);
        break;
      case 'feature_lent':
        this.#begin(chain, event.user, event.feature, at);
        break;
      case 'slot_returned':
      case 'slot_recalled':
        this.#end(chain, event.user, null, at);
        break;
      case 'slot_expired':
        this.#end(chain, event.user, null, event.endedAt);
        break;
      case 'feature_returned':
        this.#end(chain, event.user, event.feature, at);
        break;
      case 'feature_expired':
        this.#end(chain, event.user, event.feature, event.endedAt);
        break;
      case 'slot_borrowed':
        this.#unborrow(chain, event.user);
        break;
      case 'all_slots_returned':
        this.#unnamed.set(chain, event.count);
        // Features were taken after the slots of their holders, so they are met before those.
        this.#unnamedFeatures.set(chain, 0);
        break;
      case 'all_features_returned':
        this.#unnamedFeatures.set(chain, event.count);
        break;
      case 'license_added':
      case 'license_changed':
      case 'license_removed':
        this.#undoLicense(chain, event);
        break;
    }
  }

  #begin(chain: number, user: string, feature: string | null, at: Instant): void {
    const key = keyOf(chain, user, feature);
    const open = this.#open.get(key);
    if (open === undefined) {
      if (feature === null) this.#nameOne(chain);
      else this.#nameFeature(chain);
      return;
    }
    this.#sought.delete(key);
    this.#open.delete(key);
    if (open.endedAt !== null) this.#noteDuration(chain, feature, open.endedAt - at);
  }

  #end(chain: number, user: string, feature: string | null, endedAt: Instant): void {
    const key = keyOf(chain, user, feature);
    const known = this.#open.get(key);
    if (known !== undefined) {
      // It ended while the slots of now were being read.
      known.endedAt = endedAt;
      return;
    }
    this.#open.set(key, { ...unknownSlot({ chain, user, feature }), endedAt });
    if (feature === null) this.#sought.add(key);
  }

  /** What the borrow was before is only known from an older event. */
  #unborrow(chain: number, user: string): void {
    const key = keyOf(chain, user, null);
    const open = this.#open.get(key) ?? this.#openUnnamed(key, chain, user);
    Object.assign(open, { borrowedUntil: null, isBorrowKnown: false });
    this.#sought.add(key);
  }

  #nameOne(chain: number): void {
    const left = (this.#unnamed.get(chain) ?? 1) - 1;
    if (left > 0) this.#unnamed.set(chain, left);
    else this.#unnamed.delete(chain);
  }

  #nameFeature(chain: number): void {
    const left = this.#unnamedFeatures.get(chain) ?? 0;
    if (left > 0) this.#unnamedFeatures.set(chain, left - 1);
  }

  #noteDuration(chain: number, feature: string | null, heldMs: number): void {
    const license = this.#licenses.get(chain);
    if (license === undefined) return;
    const key = medianKey(license.product, feature);
    const counts = this.#durations.get(key) ?? new Map<number, number>();
    this.#durations.set(key, counts);
    const minutes = heldMinutes(heldMs);
    counts.set(minutes, (counts.get(minutes) ?? 0) + 1);
  }

  #undoLicense(chain: number, event: LicenseEventOf): void {
    const known = this.#licenses.get(chain);
    if (event.kind === 'license_removed') {
      const license = known ?? unknownLicense(chain, event.product, event.inUse);
      return void this.#licenses.set(chain, { ...license, isHeld: true });
    }
    if (known === undefined) return;
    if (event.kind === 'license_added') return void this.#licenses.set(chain, { ...known, isHeld: false });
    const { changed, slots } = event;
    this.#licenses.set(chain, {
      ...known,
      slots,
      isUnsure: changed.includes('slots'),
      enabled: known.enabled !== changed.includes('enabled'),
      active: known.active !== changed.includes('active'),
    });
  }

  /** Before the replay: only the facts of slots and licenses that are known to have been there. */
  #lookUp(chain: number, event: RecordedEvent): void {
    switch (event.kind) {
      case 'slot_lent':
        this.#find(chain, event.user, event.hostname, event.origin ?? null);
        break;
      case 'slot_borrowed':
        this.#findBorrow(chain, event.user, event.borrowedUntil, event.origin ?? null);
        break;
      case 'feature_lent':
        this.#findFeature(chain, event.user, event.feature);
        break;
      case 'slot_returned':
      case 'slot_recalled':
      case 'slot_expired':
        if (this.#unnamed.has(chain)) this.#ended.add(keyOf(chain, event.user, null));
        break;
      case 'feature_returned':
      case 'feature_expired':
        if (this.#unnamedFeatures.has(chain)) this.#ended.add(keyOf(chain, event.user, event.feature));
        break;
      case 'all_slots_returned':
        this.#unnamed.delete(chain);
        this.#unnamedFeatures.delete(chain);
        break;
      case 'all_features_returned':
        this.#unnamedFeatures.delete(chain);
        break;
      case 'license_added':
      case 'license_changed':
        this.#settle(chain, event.slots);
        break;
    }
  }

  #find(chain: number, user: string, hostname: string | null, address: string | null): void {
    const key = keyOf(chain, user, null);
    const open = this.#open.get(key) ?? this.#findUnnamed(key, chain, user);
    if (open === null || !this.#sought.delete(key)) return;
    // A later borrow says from where its holder last called.
    if (!open.isPlaceKnown) Object.assign(open, { hostname, address: open.address ?? address });
    Object.assign(open, KNOWN);
  }

  #findBorrow(chain: number, user: string, borrowedUntil: Instant, address: string | null): void {
    const key = keyOf(chain, user, null);
    const open = this.#open.get(key) ?? this.#findUnnamed(key, chain, user);
    if (open === null || open.isBorrowKnown) return;
    Object.assign(open, { borrowedUntil, isBorrowKnown: true });
    if (open.isPlaceKnown) this.#sought.delete(key);
    else open.address = address;
  }

  #findUnnamed(key: string, chain: number, user: string): Open | null {
    return this.#unnamed.has(chain) && !this.#ended.has(key) ? this.#openUnnamed(key, chain, user) : null;
  }

  /** One of the slots that were returned together. */
  #openUnnamed(key: string, chain: number, user: string): Open {
    const open = unknownSlot({ chain, user, feature: null });
    this.#open.set(key, open);
    this.#sought.add(key);
    this.#nameOne(chain);
    return open;
  }

  #findFeature(chain: number, user: string, feature: string): void {
    const key = keyOf(chain, user, feature);
    if (!this.#unnamedFeatures.has(chain) || this.#ended.has(key) || this.#open.has(key)) return;
    this.#open.set(key, unknownSlot({ chain, user, feature }));
    this.#nameFeature(chain);
  }

  #settle(chain: number, slots: number): void {
    const license = this.#licenses.get(chain);
    if (license?.isUnsure) this.#licenses.set(chain, { ...license, slots, isUnsure: false });
  }
}

type LicenseEventOf = Extract<
  RecordedEvent,
  { kind: 'license_added' | 'license_changed' | 'license_removed' }
>;

const KNOWN = { isPlaceKnown: true, isBorrowKnown: true };

function unknownSlot(whose: Pick<Open, 'chain' | 'user' | 'feature'>): Open {
  const facts = { hostname: null, address: null, borrowedUntil: null, endedAt: null };
  return { ...whose, ...facts, isPlaceKnown: false, isBorrowKnown: false };
}

function keyOf(chain: number, user: string, feature: string | null): string {
  return `${chain}\n${feature ?? ''}\n${user}`;
}
