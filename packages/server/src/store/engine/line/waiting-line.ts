import { compareTurns, listServers, type Place, REPEATS } from '../../../core/lending/waiting-line.ts';
import type { PlaceKey } from '../../../core/outcome.ts';

type Undo = () => void;

/** Tells the servers on which a user waits to ask again for them. */
export interface Turn extends PlaceKey {
  readonly servers: readonly string[];
}

/** Those who wait for the same. */
class Row {
  readonly product: string;
  readonly feature: string;
  readonly places = new Map<string, Place>();
  #sorted: readonly Place[] | null = null;
  /** The room with which nobody could be served; it need not be tried again. */
  futile: string | null = null;
  /** The rules, and the minute, by which its priorities are known. */
  rankedBy: string | null = null;

  constructor({ product, feature }: PlaceKey) {
    this.product = product;
    this.feature = feature;
  }

  set(user: string, place: Place | undefined): void {
    const before = this.places.get(user);
    if (place === undefined) this.places.delete(user);
    else this.places.set(user, place);
    const isSameTurn = before !== undefined && place !== undefined && compareTurns(before, place) === 0;
    this.#sorted = isSameTurn ? replace(this.#sorted, before, place) : null;
    this.futile = null;
  }

  forgetRanks(): void {
    this.rankedBy = null;
  }

  /** In the order of their turns. */
  list(): readonly Place[] {
    this.#sorted ??= [...this.places.values()].sort(compareTurns);
    return this.#sorted;
  }
}

function replace(sorted: readonly Place[] | null, before: Place, place: Place): readonly Place[] | null {
  const index = sorted?.indexOf(before) ?? -1;
  return sorted === null || index === -1 ? null : sorted.with(index, place);
}

export type { Row as LineRow };

/**
 * Who waits for slots, as the writer of a store knows it. SQLite's keeps it in memory from one batch to the
 * next; on PostgreSQL each transaction reads it, and writes what has changed.
 */
export class WaitingLine {
  /** This server, among those on one database. */
  readonly server: string;
  readonly isAlive: (server: string) => boolean;
  /** Every command looks at them, so the arrays are made when a row comes or goes. */
  #rows: readonly Row[] = [];
  readonly #rowsByProduct = new Map<string, readonly Row[]>();
  /** How many places there are. A field, because every command looks at it. */
  size = 0;
  /** Whether something has changed since the last commit. */
  hasNews = false;
  /** How many of them are kept for users who repeat the call. */
  repeating = 0;
  #lastN = 0;
  #undo: Undo[] = [];
  #turns: Turn[] = [];
  readonly #changed = new Map<string, PlaceKey>();
  /** Who could not be served although there is a free slot, and the addresses that have their share. */
  readonly passedOver = new Set<string>();
  /** Those to whom slots were lent that nobody will hear of. */
  lost: Place[] = [];

  constructor(
    server = 'here',
    places: Iterable<Place> = [],
    isAlive: (server: string) => boolean = () => true,
  ) {
    this.server = server;
    this.isAlive = isAlive;
    for (const place of places) this.#set(place, place);
    if (this.hasNews) this.takeTurns();
  }

  /** Those for one product, or all, in the order in which they are served. */
  listRows(product: string | null = null): readonly Row[] {
    return product === null ? this.#rows : (this.#rowsByProduct.get(product) ?? NO_ROWS);
  }

  /** Whether somebody waits for the product or a feature of it. */
  has(product: string): boolean {
    return this.#rowsByProduct.has(product);
  }

  findRow(product: string, feature: string): Row | undefined {
    return this.listRows(product).find((row) => row.feature === feature);
  }

  #addRow(key: PlaceKey): Row {
    const row = new Row(key);
    this.#rows = [...this.#rows, row].sort(compareRows);
    this.#rowsByProduct.set(key.product, [...this.listRows(key.product), row].sort(compareRows));
    return row;
  }

  #removeRow(row: Row): void {
    this.#rows = this.#rows.filter((one) => one !== row);
    const left = this.#rows.filter(({ product }) => product === row.product);
    if (left.length === 0) this.#rowsByProduct.delete(row.product);
    else this.#rowsByProduct.set(row.product, left);
  }

  find({ product, feature, user }: PlaceKey): Place | undefined {
    return this.findRow(product, feature)?.places.get(user);
  }

  /** Who waits for the same, in the order of their turns. */
  list({ product, feature }: Omit<PlaceKey, 'user'>): readonly Place[] {
    return this.findRow(product, feature)?.list() ?? [];
  }

  nextN(): number {
    return this.#lastN + 1;
  }

  put(place: Place): void {
    this.#set(place, place);
  }

  remove(key: PlaceKey): void {
    this.#set(key, undefined);
  }

  /** Asks the servers on which the user waits to ask again for them. */
  call(place: Place): void {
    const servers = listServers(place);
    if (servers.length === 0) return;
    const { product, feature, user } = place;
    this.#turns.push({ product, feature, user, servers });
    this.hasNews = true;
    this.#undo.push(() => this.#turns.pop());
  }

  #set(key: PlaceKey, place: Place | undefined): void {
    const { product, feature, user } = key;
    const before = this.find(key);
    if (before === place) return;
    const row = this.findRow(product, feature) ?? this.#addRow(key);
    row.set(user, place);
    if (row.places.size === 0) this.#removeRow(row);
    this.size += (place === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    this.repeating += (repeats(place) ? 1 : 0) - (repeats(before) ? 1 : 0);
    this.#lastN = Math.max(this.#lastN, place?.n ?? 0);
    this.#changed.set(JSON.stringify([product, feature, user]), { product, feature, user });
    this.hasNews = true;
    this.#undo.push(() => {
      this.#set(key, before);
      this.findRow(product, feature)?.forgetRanks();
    });
  }

  /** The batch was not committed. */
  rollBack(): void {
    for (const step of this.#undo.splice(0).reverse()) step();
    this.takeTurns();
  }

  /** Something else was changed with the line, and is undone with it. */
  onUndo(step: Undo): void {
    this.#undo.push(step);
  }

  /** Returns how to undo everything from here on. */
  mark(): Undo {
    const length = this.#undo.length;
    return () => {
      const steps = this.#undo.splice(length).reverse();
      for (const step of steps) step();
      this.#undo.length = length;
    };
  }

  /** The batch was committed: returns whose turn it is. */
  takeTurns(): readonly Turn[] {
    const turns = this.#turns;
    this.hasNews = false;
    this.#turns = [];
    this.#undo = [];
    this.#changed.clear();
    return turns;
  }

  get isChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** What the batch has changed; without a place, it is gone. */
  listChanges(): readonly { readonly key: PlaceKey; readonly place: Place | undefined }[] {
    return Array.from(this.#changed.values(), (key) => ({ key, place: this.find(key) }));
  }
}

const NO_ROWS: readonly Row[] = [];

/** A license, named '', comes before its features: only those who hold a slot of it can have them. */
function compareRows(a: Row, b: Row): number {
  if (a.product !== b.product) return a.product < b.product ? -1 : 1;
  return a.feature < b.feature ? -1 : 1;
}

function repeats(place: Place | undefined): boolean {
  return place?.presence[REPEATS] !== undefined;
}
