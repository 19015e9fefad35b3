import type { UsageEvent } from '../../core/history/usage-event.ts';
import type { ConsumptionTotals } from '../../core/nouns/consumption.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import { type ChainHead, EMPTY_HEAD } from './audit/audit-chain.ts';
import type { SlotCounts } from './counts/slot-counts.ts';
import { Meters } from './meters.ts';
import { licenseFromRow } from './rows.ts';
import type { RowOf } from './tables.ts';

/**
 * A license as the writer keeps it in memory. Only the writer changes it, so it is what the database holds,
 * plus what the running batch has decided and not yet committed.
 */
export interface LoadedLicense {
  license: License;
  storedInUse: number;
  head: ChainHead;
  order: number;
  /** When it was removed. It is no longer found, but its slots still end, and its chain and totals stay. */
  removedAt: Instant | null;
  /** No registration ends before this, so most commands need not look. A lower bound, not the exact time. */
  noEndBefore: number;
  /** The same for feature slots; `NO_END` if there are none at all. */
  noFeatureEndBefore: number;
  readonly meters: Meters;
  /** What the rules count; `null`: nothing was counted yet. */
  counts: SlotCounts | null;
  totals: KeptTotals | null;
  /** Events of the running batch, as texts. */
  events: string[];
  /** What the running batch adds to the history. */
  history: UsageEvent[];
  isChanged: boolean;
  /** A command of the running batch has written something about it, if only a row of another table. */
  isTouched: boolean;
}

/**
 * A totals computed from the meters, and what it was computed from: it is valid while that is unchanged.
 */
interface KeptTotals {
  readonly totals: ConsumptionTotals;
  readonly license: License;
  /** Their revision. */
  readonly meters: number;
  /** When the next window ends, and its total with it. */
  readonly endsAt: Instant | null;
}

/** A license that was removed. */
export interface RemovedLicense {
  readonly id: LicenseId;
  readonly product: string;
  readonly removedAt: Instant;
  /** The license that has taken its place, if any. */
  readonly replacedBy: LicenseId | null;
}

/** What must be known of all licenses if only some are loaded. */
interface Surroundings {
  readonly productCount: number;
  readonly lastOrder: number;
  readonly removed: readonly RemovedLicense[];
}

type LicenseRow = RowOf<'license'>;

/** How to read what a row says in texts. */
interface RowReader {
  license(row: LicenseRow): License;
  /** `null`: what the rules count is counted anew when it is needed. */
  counts(row: LicenseRow): SlotCounts | null;
}

export class LoadedLicenses {
  readonly #entries = new Map<LicenseId, LoadedLicense>();
  /** By product, the most recently added first. */
  readonly #byProduct = new Map<string, LoadedLicense[]>();
  #removed: readonly RemovedLicense[] = [];
  readonly #surroundings: Surroundings | null;

  /** `surroundings`: only the licenses of some products are given. */
  constructor(
    rows: Iterable<LicenseRow>,
    surroundings: Surroundings | null = null,
    read: RowReader = { license: licenseFromRow, counts: () => null },
  ) {
    this.#surroundings = surroundings;
    for (const row of rows) {
      const entry = entryFromRow(row, read);
      this.#entries.set(entry.license.id, entry);
    }
    this.#indexProducts();
  }

  get productCount(): number {
    return this.#surroundings?.productCount ?? this.#byProduct.size;
  }

  /** Includes removed licenses: their slots still end. */
  entries(): Iterable<LoadedLicense> {
    return this.#entries.values();
  }

  find(id: LicenseId): LoadedLicense | undefined {
    const entry = this.#entries.get(id);
    return entry?.removedAt === null ? entry : undefined;
  }

  findRemoved(id: LicenseId): LoadedLicense | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || entry.removedAt === null ? undefined : entry;
  }

  listByProduct(product: string): readonly LoadedLicense[] {
    return this.#byProduct.get(product) ?? [];
  }

  /** Those of the product that were removed after this instant. */
  listRemoved(product: string, after: Instant): readonly LicenseId[] {
    const removed = this.#surroundings?.removed ?? this.#removed;
    return listRemovedOf(removed, product, after);
  }

  /** What has taken the place of a removed license; `null`: nothing. */
  findReplacing(id: LicenseId | null): LicenseId | null {
    return findReplacing(this.#surroundings?.removed ?? this.#removed, id);
  }

  /** The licenses of the only product, when there is only one. */
  listOnlyProduct(): readonly LoadedLicense[] {
    return this.productCount === 1 ? [...this.#byProduct.values()].flat() : [];
  }

  addNew(license: License): LoadedLicense {
    const entry = createEntry(license, this.#nextOrder(), {
      storedInUse: 0,
      head: EMPTY_HEAD,
      removedAt: null,
      counts: null,
    });
    entry.isChanged = true;
    this.add(entry);
    return entry;
  }

  /** Brings back a removed license as the most recently added one. */
  revive(entry: LoadedLicense): LoadedLicense {
    entry.order = this.#nextOrder();
    this.setRemoved(entry, null);
    return entry;
  }

  setRemoved(entry: LoadedLicense, removedAt: Instant | null): void {
    entry.removedAt = removedAt;
    this.#indexProducts();
  }

  #nextOrder(): number {
    const orders = [...this.#entries.values()].map((entry) => entry.order);
    return Math.max(this.#surroundings?.lastOrder ?? 0, ...orders) + 1;
  }

  add(entry: LoadedLicense): void {
    this.#entries.set(entry.license.id, entry);
    this.#indexProducts();
  }

  remove(id: LicenseId): void {
    this.#entries.delete(id);
    this.#indexProducts();
  }

  replaceLicense(entry: LoadedLicense, license: License): void {
    entry.license = license;
    this.#indexProducts();
  }

  #indexProducts(): void {
    this.#byProduct.clear();
    const entries = [...this.#entries.values()];
    const held = entries.filter(({ removedAt }) => removedAt === null);
    const newestFirst = held.sort((a, b) => b.order - a.order);
    for (const entry of newestFirst) {
      const product = entry.license.product;
      this.#byProduct.set(product, [...this.listByProduct(product), entry]);
    }
    this.#removed = entries.flatMap(({ license: { id, product, tie }, removedAt }) =>
      removedAt === null ? [] : [{ id, product, removedAt, replacedBy: tie.replacedBy ?? null }],
    );
  }
}

function entryFromRow(row: LicenseRow, read: RowReader): LoadedLicense {
  return createEntry(read.license(row), row.added_order, {
    storedInUse: row.in_use,
    removedAt: row.removed_at,
    head: { n: row.audit_n, mac: row.audit_mac },
    counts: read.counts(row),
  });
}

function createEntry(
  license: License,
  order: number,
  stored: Pick<LoadedLicense, 'storedInUse' | 'head' | 'removedAt' | 'counts'>,
): LoadedLicense {
  return {
    license,
    order,
    ...stored,
    noEndBefore: 0,
    noFeatureEndBefore: 0,
    meters: new Meters(license.id),
    totals: null,
    events: [],
    history: [],
    isChanged: false,
    isTouched: false,
  };
}

export function listRemovedOf(
  removed: readonly RemovedLicense[],
  product: string,
  after: Instant,
): readonly LicenseId[] {
  return removed.filter((one) => one.product === product && one.removedAt > after).map(({ id }) => id);
}

/** That one may have been replaced in turn. */
export function findReplacing(removed: readonly RemovedLicense[], id: LicenseId | null): LicenseId | null {
  return removed.find((one) => one.id === id)?.replacedBy ?? null;
}

/** Returns how to undo whatever a command changes here. */
export function rememberEntry(licenses: LoadedLicenses, entry: LoadedLicense): () => void {
  const { license, order, removedAt, storedInUse, isChanged, isTouched } = entry;
  const { noEndBefore, noFeatureEndBefore } = entry;
  const eventCount = entry.events.length;
  const historyCount = entry.history.length;
  const stepCount = entry.meters.steps.length;
  const { counts } = entry;
  const undoCounts = counts?.remember();
  return () => {
    undoCounts?.();
    entry.order = order;
    if (entry.removedAt !== removedAt) licenses.setRemoved(entry, removedAt);
    if (entry.license !== license) licenses.replaceLicense(entry, license);
    Object.assign(entry, { storedInUse, noEndBefore, noFeatureEndBefore, isChanged, isTouched, counts });
    entry.events.length = eventCount;
    entry.history.length = historyCount;
    entry.meters.undoAfter(stepCount);
  };
}

/** Lowers the bound when a registration ends earlier than anything known. */
export function noteEnd(entry: LoadedLicense, endsAt: Instant): void {
  if (endsAt < entry.noEndBefore) entry.noEndBefore = endsAt;
}

export function noteFeatureEnd(entry: LoadedLicense, endsAt: Instant): void {
  if (endsAt < entry.noFeatureEndBefore) entry.noFeatureEndBefore = endsAt;
}

/** The bound if nothing can end. */
export const NO_END = Number.MAX_SAFE_INTEGER;

/** Returns whether anybody may hold a slot of any feature; `true` until the store has looked. */
export function mayHaveFeatureSlots(entry: LoadedLicense): boolean {
  return entry.noFeatureEndBefore !== NO_END;
}

/** Whether the running batch has changed what is written with the license. */
export function hasNews({ isChanged, meters, events, history }: LoadedLicense): boolean {
  return isChanged || meters.changed.size > 0 || events.length > 0 || history.length > 0;
}
