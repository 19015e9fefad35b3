import type { Standing } from '../../core/nouns/consumption.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import { type ChainHead, EMPTY_HEAD } from './audit/audit-chain.ts';
import { Meters } from './meters.ts';
import { licenseFromRow } from './rows.ts';
import type { RowOf } from './tables.ts';

/**
 * A license as the writer holds it in memory between commits. The writer is the only one who changes it, so
 * what stands here is what stands in the database, plus what the running batch has decided and not yet
 * committed.
 */
export interface ShelfEntry {
  license: License;
  storedInUse: number;
  head: ChainHead;
  order: number;
  /** When the server gave it up: nobody finds it, but its slots end, and its chain and totals stay. */
  removedAt: Instant | null;
  /**
   * No registration ends before this: spares most commands the question. A lower bound, not the exact
   * instant.
   */
  noEndBefore: number;
  /** The same for feature slots; the largest number when there are none at all. */
  noFeatureEndBefore: number;
  readonly meters: Meters;
  standing: KeptStanding | null;
  /** Events of the running batch, as texts. */
  events: string[];
  isChanged: boolean;
  /** A command of the running batch has written something of it, be it only a row elsewhere. */
  isTouched: boolean;
}

/** What was made from the meters, kept as long as it is true. */
interface KeptStanding {
  readonly standing: Standing;
  readonly license: License;
  readonly metersVersion: number;
  /** A window ends: then some total is another one. */
  readonly endsAt: Instant | null;
}

/** A license that the server gave up. */
export interface RemovedLicense {
  readonly id: LicenseId;
  readonly product: string;
  readonly removedAt: Instant;
}

/** What a shelf that holds only some of the licenses has to know of all of them. */
interface Surroundings {
  readonly productCount: number;
  readonly lastOrder: number;
  readonly removed: readonly RemovedLicense[];
}

type LicenseRow = RowOf<'license'>;

export class Shelf {
  readonly #entries = new Map<LicenseId, ShelfEntry>();
  /** By product, the most recently added first. */
  readonly #byProduct = new Map<string, ShelfEntry[]>();
  #removed: readonly RemovedLicense[] = [];
  readonly #surroundings: Surroundings | null;

  /** `surroundings`: the rows are not all there are, but all of the products that are asked for. */
  constructor(
    rows: Iterable<LicenseRow>,
    surroundings: Surroundings | null = null,
    readLicense: (row: LicenseRow) => License = licenseFromRow,
  ) {
    this.#surroundings = surroundings;
    for (const row of rows) {
      const entry = entryFromRow(row, readLicense(row));
      this.#entries.set(entry.license.id, entry);
    }
    this.#indexProducts();
  }

  get productCount(): number {
    return this.#surroundings?.productCount ?? this.#byProduct.size;
  }

  /** Removed licenses too: time goes on for what was lent of them. */
  entries(): Iterable<ShelfEntry> {
    return this.#entries.values();
  }

  find(id: LicenseId): ShelfEntry | undefined {
    const entry = this.#entries.get(id);
    return entry?.removedAt === null ? entry : undefined;
  }

  findRemoved(id: LicenseId): ShelfEntry | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || entry.removedAt === null ? undefined : entry;
  }

  listByProduct(product: string): readonly ShelfEntry[] {
    return this.#byProduct.get(product) ?? [];
  }

  /** Those of the product that were removed after this instant. */
  listRemoved(product: string, after: Instant): readonly LicenseId[] {
    const removed = this.#surroundings?.removed ?? this.#removed;
    return listRemovedOf(removed, product, after);
  }

  /** The licenses of the only product, when there is only one. */
  listOnlyProduct(): readonly ShelfEntry[] {
    return this.productCount === 1 ? [...this.#byProduct.values()].flat() : [];
  }

  addNew(license: License): ShelfEntry {
    const entry = createEntry(license, this.#nextOrder(), {
      storedInUse: 0,
      head: EMPTY_HEAD,
      removedAt: null,
    });
    entry.isChanged = true;
    this.add(entry);
    return entry;
  }

  /** A license that was removed before is the most recently added one again. */
  revive(entry: ShelfEntry): ShelfEntry {
    entry.order = this.#nextOrder();
    this.setRemoved(entry, null);
    return entry;
  }

  setRemoved(entry: ShelfEntry, removedAt: Instant | null): void {
    entry.removedAt = removedAt;
    this.#indexProducts();
  }

  #nextOrder(): number {
    const orders = [...this.#entries.values()].map((entry) => entry.order);
    return Math.max(this.#surroundings?.lastOrder ?? 0, ...orders) + 1;
  }

  add(entry: ShelfEntry): void {
    this.#entries.set(entry.license.id, entry);
    this.#indexProducts();
  }

  remove(id: LicenseId): void {
    this.#entries.delete(id);
    this.#indexProducts();
  }

  replaceLicense(entry: ShelfEntry, license: License): void {
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
    this.#removed = entries.flatMap(({ license: { id, product }, removedAt }) =>
      removedAt === null ? [] : [{ id, product, removedAt }],
    );
  }
}

function entryFromRow(row: LicenseRow, license: License): ShelfEntry {
  return createEntry(license, row.added_order, {
    storedInUse: row.in_use,
    removedAt: row.removed_at,
    head: { n: row.audit_n, mac: row.audit_mac },
  });
}

function createEntry(
  license: License,
  order: number,
  stored: Pick<ShelfEntry, 'storedInUse' | 'head' | 'removedAt'>,
): ShelfEntry {
  return {
    license,
    order,
    ...stored,
    noEndBefore: 0,
    noFeatureEndBefore: 0,
    meters: new Meters(license.id),
    standing: null,
    events: [],
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

/** Remembers an entry as it is, and answers how to make it so again: for a command that fails. */
export function rememberEntry(shelf: Shelf, entry: ShelfEntry): () => void {
  const { license, order, removedAt, storedInUse, isChanged, isTouched } = entry;
  const { noEndBefore, noFeatureEndBefore } = entry;
  const eventCount = entry.events.length;
  const undoMeters = entry.meters.remember();
  return () => {
    entry.order = order;
    if (entry.removedAt !== removedAt) shelf.setRemoved(entry, removedAt);
    if (entry.license !== license) shelf.replaceLicense(entry, license);
    Object.assign(entry, { storedInUse, noEndBefore, noFeatureEndBefore, isChanged, isTouched });
    undoMeters();
    entry.events.length = eventCount;
  };
}

/** Lowers the bound when a registration ends earlier than anything known. */
export function noteEnd(entry: ShelfEntry, endsAt: Instant): void {
  if (endsAt < entry.noEndBefore) entry.noEndBefore = endsAt;
}

export function noteFeatureEnd(entry: ShelfEntry, endsAt: Instant): void {
  if (endsAt < entry.noFeatureEndBefore) entry.noFeatureEndBefore = endsAt;
}

/** The bound of something that has no end in sight, because there is nothing. */
export const NO_END = Number.MAX_SAFE_INTEGER;

/** Whether anyone may hold a slot of any feature; `true` until the store has looked. */
export function mayHaveFeatureSlots(entry: ShelfEntry): boolean {
  return entry.noFeatureEndBefore !== NO_END;
}
