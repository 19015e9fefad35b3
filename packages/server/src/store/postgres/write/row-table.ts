import { type Instant, instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { Row } from '../../engine/rows.ts';
import { type TableName, tableOf } from '../../engine/tables.ts';

/** The tables that frequent commands use row by row. A batch writes each of them at once. */
export const HELD_TABLES = [
  'registration',
  'feature_slot',
  'denial',
  'place_denial',
  'meter',
  'consumption_total',
  'remembered_answer',
] as const satisfies readonly TableName[];

export type HeldTable = (typeof HELD_TABLES)[number];

export function isHeld(table: TableName): table is HeldTable {
  return (HELD_TABLES as readonly TableName[]).includes(table);
}

/** A row of one of these, or the columns that identify it or its group. */
export type HeldRow = Row & { readonly license_id: LicenseId };

interface Change {
  /** `null`: the row is gone. */
  readonly row: HeldRow | null;
  readonly key: HeldRow;
  /** The row is in the database, and only its end is another one. */
  readonly isRenewal: boolean;
}

/** Rows by their key, as changed since they were read. */
export type Changes = ReadonlyMap<string, Change>;

/** What is known of one license. */
interface Knowledge {
  /** By group, then by key; `null`: gone. */
  readonly groups: Map<string, Map<string, HeldRow | null>>;
  /** Groups of which every row is known. */
  readonly complete: Set<string>;
  /** Every row that ends before this is known. */
  horizon: number;
  /** The limit with which those that end first were read. */
  limit: number;
}

/** Notes how to undo a step. */
type Journal = (undo: () => void) => void;

/**
 * The rows of one table as a transaction knows them: as read, with its own changes. `undefined` means
 * unknown: it has to be read first. What is known is never read again, so each command sees the changes of
 * those before it.
 */
export class RowTable {
  readonly name: HeldTable;
  readonly #key: readonly string[];
  readonly #group: readonly string[];
  readonly #order: readonly string[];
  readonly #journal: Journal;
  #licenses = new Map<LicenseId, Knowledge>();
  #changes = new Map<string, Change>();

  constructor(name: HeldTable, journal: Journal) {
    this.name = name;
    const { key, group } = tableOf(name);
    this.#key = key;
    this.#group = group;
    this.#order = key.slice(group.length);
    this.#journal = journal;
  }

  /** All rows of a group, ordered by the rest of the key; `undefined`: not all of them are known. */
  list(group: HeldRow): readonly HeldRow[] | undefined {
    const found = this.#findGroup(group);
    if (found === undefined) return undefined;
    const rows = [...found.values()].filter((row) => row !== null);
    return rows.length < 2 ? rows : rows.sort((a, b) => compareTexts(a, b, this.#order));
  }

  /** `null`: there is no such row; `undefined`: not known. */
  find(key: HeldRow): HeldRow | null | undefined {
    const group = this.#findGroup(key);
    return group === undefined ? undefined : (group.get(this.#keyOf(key)) ?? null);
  }

  #findGroup(group: HeldRow): ReadonlyMap<string, HeldRow | null> | undefined {
    const known = this.#licenses.get(group.license_id);
    if (known === undefined) return undefined;
    const name = nameOf(group, this.#group);
    if (!known.complete.has(name) && known.horizon !== Number.POSITIVE_INFINITY) return undefined;
    return known.groups.get(name) ?? NO_ROWS;
  }

  #keyOf(row: HeldRow): string {
    return nameOf(row, this.#key);
  }

  /** The rows of a license that end at or before `now`, the first to end first; at most `limit`. */
  listEnded(license: LicenseId, now: number, limit: number): readonly HeldRow[] | undefined {
    const horizon = this.#licenses.get(license)?.horizon ?? 0;
    const ended = this.#listKnown(license, (endsAt) => endsAt <= now && endsAt <= horizon);
    if (horizon <= now && ended.length < limit) return undefined;
    return ended.sort((a, b) => this.#compareEnds(a, b)).slice(0, limit);
  }

  /** When the next row after `after` ends; `null`: none does. */
  findEnd(license: LicenseId, after: number): Instant | null | undefined {
    const horizon = this.#licenses.get(license)?.horizon ?? 0;
    let first = Number.POSITIVE_INFINITY;
    for (const row of this.#listKnown(license, (endsAt) => endsAt > after)) {
      first = Math.min(first, endOf(row));
    }
    if (first > horizon) return undefined;
    return first === Number.POSITIVE_INFINITY ? null : instant(first);
  }

  /** No row ends before this; `null`: none ends. */
  boundEnds(license: LicenseId): Instant | null | undefined {
    const horizon = this.#licenses.get(license)?.horizon ?? 0;
    const known = this.findEnd(license, Number.NEGATIVE_INFINITY);
    return known === undefined && horizon > 0 ? instant(horizon) : known;
  }

  /** As the database orders them: by the end, then by the rest of the key. */
  #compareEnds(a: HeldRow, b: HeldRow): number {
    return endOf(a) - endOf(b) || compareTexts(a, b, this.#key.slice(1));
  }

  #listKnown(license: LicenseId, isMeant: (endsAt: number) => boolean): HeldRow[] {
    const rows: HeldRow[] = [];
    for (const group of this.#licenses.get(license)?.groups.values() ?? []) {
      for (const row of group.values()) {
        if (row !== null && isMeant(endOf(row))) rows.push(row);
      }
    }
    return rows;
  }

  put(row: HeldRow): void {
    this.#change(row, row, false);
  }

  /** Puts a known row of which only the end has changed. */
  renew(row: HeldRow): void {
    this.#change(row, row, true);
  }

  remove(key: HeldRow): void {
    this.#change(key, null, false);
  }

  #change(key: HeldRow, row: HeldRow | null, isRenewed: boolean): void {
    const group = this.#groupOf(key);
    const name = this.#keyOf(key);
    const [rowBefore, changeBefore] = [group.get(name), this.#changes.get(name)];
    const changes = this.#changes;
    this.#journal(() => {
      restore(group, name, rowBefore);
      restore(changes, name, changeBefore);
    });
    group.set(name, row);
    changes.set(name, { row, key, isRenewal: isRenewed && changeBefore?.isRenewal !== false });
  }

  /** Adds rows that were read. Known rows stay: they may be newer. */
  learn(rows: readonly HeldRow[]): void {
    for (const row of rows) {
      const group = this.#groupOf(row);
      const name = this.#keyOf(row);
      if (!group.has(name)) group.set(name, row);
    }
  }

  /** One row of each group of a license of which any row is known. */
  listGroups(license: LicenseId): readonly HeldRow[] {
    const groups = [...(this.#licenses.get(license)?.groups.values() ?? [])];
    return groups.flatMap((group) => [...group.values()].find((row) => row !== null) ?? []);
  }

  /** Every row of this group was read. */
  complete(group: HeldRow): void {
    this.#knowledgeOf(group.license_id).complete.add(nameOf(group, this.#group));
  }

  /** Adds the rows of a license that end first, and not after `endsBy`, read with this limit. */
  learnSoonest(
    license: LicenseId,
    rows: readonly HeldRow[],
    limit: number,
    endsBy = Number.POSITIVE_INFINITY,
  ): void {
    this.learn(rows);
    const known = this.#knowledgeOf(license);
    known.limit = limit;
    const last = rows.length < limit ? undefined : rows.at(-1);
    known.horizon = Math.max(known.horizon, last === undefined ? endsBy : endOf(last));
  }

  /** The limit with which those that end first were read. */
  soonestLimit(license: LicenseId): number {
    return this.#licenses.get(license)?.limit ?? 0;
  }

  /** Every row of the license was read. */
  completeLicense(license: LicenseId): void {
    this.#knowledgeOf(license).horizon = Number.POSITIVE_INFINITY;
  }

  get isChanged(): boolean {
    return this.#changes.size > 0;
  }

  /** Returns what has to be written. The rows stay known. */
  takeChanges(): Changes {
    const changes = this.#changes;
    this.#changes = new Map();
    this.#journal(() => {
      this.#changes = changes;
    });
    return changes;
  }

  /** Forgets all rows: a statement may have changed any of them. */
  forget(): void {
    const licenses = this.#licenses;
    this.#licenses = new Map();
    this.#journal(() => {
      this.#licenses = licenses;
    });
  }

  #knowledgeOf(license: LicenseId): Knowledge {
    let known = this.#licenses.get(license);
    if (known === undefined) {
      known = { groups: new Map(), complete: new Set(), horizon: 0, limit: 0 };
      this.#licenses.set(license, known);
    }
    return known;
  }

  #groupOf(row: HeldRow): Map<string, HeldRow | null> {
    const { groups } = this.#knowledgeOf(row.license_id);
    const name = nameOf(row, this.#group);
    let group = groups.get(name);
    if (group === undefined) {
      group = new Map();
      groups.set(name, group);
    }
    return group;
  }
}

const NO_ROWS: ReadonlyMap<string, HeldRow> = new Map();

/** No text in PostgreSQL has this character. */
const SEPARATOR = '\u0000';

function nameOf(row: Row, columns: readonly string[]): string {
  let name = '';
  for (const column of columns) name += `${row[column]}${SEPARATOR}`;
  return name;
}

function endOf(row: Row): number {
  return row.ends_at as number;
}

function restore<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** Compares texts by their bytes, as the database does. */
function compareTexts(a: Row, b: Row, columns: readonly string[]): number {
  for (const column of columns) {
    if (a[column] === b[column]) continue;
    return Buffer.compare(Buffer.from(String(a[column])), Buffer.from(String(b[column])));
  }
  return 0;
}
