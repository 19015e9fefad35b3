import type { Instant } from '../../core/instant.ts';
import type { License, LicenseId } from '../../core/license.ts';
import { type ChainHead, EMPTY_HEAD } from './audit-chain.ts';
import { licenseFromRow, type Row } from './rows.ts';

/**
 * A license as the writer holds it in memory between commits. The writer is the only one who changes it, so
 * what stands here is what stands in the database, plus what the running batch has decided and not yet
 * committed.
 */
export interface ShelfEntry {
  license: License;
  storedInUse: number;
  head: ChainHead;
  readonly order: number;
  /**
   * No registration ends before this: spares most commands the question. A lower bound, not the exact
   * instant.
   */
  noEndBefore: number;
  /** Events of the running batch, as texts. */
  events: string[];
  isChanged: boolean;
}

export class Shelf {
  readonly #entries = new Map<LicenseId, ShelfEntry>();
  /** By product, the most recently added first. */
  readonly #byProduct = new Map<string, ShelfEntry[]>();

  constructor(rows: Iterable<Row>) {
    for (const row of rows) this.add(entryFromRow(row));
  }

  get productCount(): number {
    return this.#byProduct.size;
  }

  entries(): Iterable<ShelfEntry> {
    return this.#entries.values();
  }

  find(id: LicenseId): ShelfEntry | undefined {
    return this.#entries.get(id);
  }

  listByProduct(product: string): readonly ShelfEntry[] {
    return this.#byProduct.get(product) ?? [];
  }

  /** The licenses of the only product, when there is only one. */
  listOnlyProduct(): readonly ShelfEntry[] {
    return this.#byProduct.size === 1 ? [...this.#byProduct.values()].flat() : [];
  }

  addNew(license: License): ShelfEntry {
    const order = Math.max(0, ...[...this.#entries.values()].map((entry) => entry.order)) + 1;
    const entry = {
      license,
      storedInUse: 0,
      head: EMPTY_HEAD,
      order,
      noEndBefore: 0,
      events: [],
      isChanged: true,
    };
    this.add(entry);
    return entry;
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
    const newestFirst = [...this.#entries.values()].sort((a, b) => b.order - a.order);
    for (const entry of newestFirst) {
      const product = entry.license.product;
      this.#byProduct.set(product, [...this.listByProduct(product), entry]);
    }
  }
}

function entryFromRow(row: Row): ShelfEntry {
  return {
    license: licenseFromRow(row),
    storedInUse: row.in_use as number,
    head: { n: row.audit_n as number, mac: row.audit_mac as Uint8Array },
    order: row.added_order as number,
    noEndBefore: 0,
    events: [],
    isChanged: false,
  };
}

/** Remembers an entry as it is, and answers how to make it so again: for a command that fails. */
export function rememberEntry(shelf: Shelf, entry: ShelfEntry): () => void {
  const { license, storedInUse, noEndBefore, isChanged } = entry;
  const eventCount = entry.events.length;
  return () => {
    if (entry.license !== license) shelf.replaceLicense(entry, license);
    Object.assign(entry, { storedInUse, noEndBefore, isChanged });
    entry.events.length = eventCount;
  };
}

/** Lowers the bound when a registration ends earlier than anything known. */
export function noteEnd(entry: ShelfEntry, endsAt: Instant): void {
  if (endsAt < entry.noEndBefore) entry.noEndBefore = endsAt;
}
