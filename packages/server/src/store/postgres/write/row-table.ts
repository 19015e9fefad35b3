import type { Row, RowValue } from '../../engine/rows.ts';

/** A table of which a transaction holds rows ready. */
export interface TableSpec {
  readonly name: string;
  /** Every column and its type; the first is the license. */
  readonly columns: Readonly<Record<string, string>>;
  readonly key: readonly string[];
  /** What rows are asked for by: all rows that agree in these are one group. */
  readonly group: readonly string[];
}

interface Change {
  /** `null`: the row is gone. */
  readonly row: Row | null;
  readonly key: Row;
}

/** Rows by their key, as changed since they were read. */
export type Changes = ReadonlyMap<string, Change>;

/** What is known of one license. */
interface Knowledge {
  /** By group, then by key; `null`: gone. */
  readonly groups: Map<string, Map<string, Row | null>>;
  /** Groups of which every row is known. */
  readonly complete: Set<string>;
  /** Every row that ends before this is known. */
  horizon: number;
  /** How many of those that end first were asked for. */
  limit: number;
}

/** Takes down how to undo a step. */
export type Journal = (undo: () => void) => void;

/**
 * The rows of one table as a transaction knows them: some were read, some were changed since. What is not
 * known is `undefined`, and has to be read first; what is known is never read again, so that the changes of
 * one command are there for the next.
 */
export class RowTable {
  readonly spec: TableSpec;
  readonly #journal: Journal;
  #licenses = new Map<RowValue, Knowledge>();
  #changes = new Map<string, Change>();

  constructor(spec: TableSpec, journal: Journal) {
    this.spec = spec;
    this.#journal = journal;
  }

  /** All rows of a group, by their keys; `undefined`: not all of them are known. */
  list(group: readonly RowValue[]): readonly Row[] | undefined {
    const known = this.#licenses.get(group[0] as RowValue);
    if (known === undefined) return undefined;
    const name = nameOf(group);
    if (!known.complete.has(name) && known.horizon !== Number.POSITIVE_INFINITY) return undefined;
    return [...(known.groups.get(name)?.values() ?? [])].filter((row) => row !== null);
  }

  /** The rows of a license that end at or before `now`, the first first; at most `limit`. */
  listEnded(license: number, now: number, limit: number): readonly Row[] | undefined {
    const horizon = this.#licenses.get(license)?.horizon ?? 0;
    const ended = this.#listKnown(license, (endsAt) => endsAt <= now && endsAt <= horizon);
    return horizon > now || ended.length >= limit ? ended.sort(byEnd).slice(0, limit) : undefined;
  }

  /** When the first row that ends after `after` does; `null`: none does. */
  findEnd(license: number, after: number): number | null | undefined {
    const horizon = this.#licenses.get(license)?.horizon ?? 0;
    let first = Number.POSITIVE_INFINITY;
    for (const row of this.#listKnown(license, (endsAt) => endsAt > after)) {
      first = Math.min(first, row.ends_at as number);
    }
    if (first > horizon) return undefined;
    return first === Number.POSITIVE_INFINITY ? null : first;
  }

  #listKnown(license: number, isMeant: (endsAt: number) => boolean): Row[] {
    const rows: Row[] = [];
    for (const group of this.#licenses.get(license)?.groups.values() ?? []) {
      for (const row of group.values()) {
        if (row !== null && isMeant(row.ends_at as number)) rows.push(row);
      }
    }
    return rows;
  }

  put(row: Row): void {
    this.#change(row, row);
  }

  remove(key: Row): void {
    this.#change(key, null);
  }

  #change(key: Row, row: Row | null): void {
    const group = this.#groupOf(key);
    const name = this.#keyOf(key);
    const [rowBefore, changeBefore] = [group.get(name), this.#changes.get(name)];
    const changes = this.#changes;
    this.#journal(() => {
      restore(group, name, rowBefore);
      restore(changes, name, changeBefore);
    });
    group.set(name, row);
    changes.set(name, { row, key });
  }

  /** Takes in what was read; what is known already may be newer. */
  learn(rows: readonly Row[]): void {
    for (const row of rows) {
      const group = this.#groupOf(row);
      const name = this.#keyOf(row);
      if (!group.has(name)) group.set(name, row);
    }
  }

  /** The groups of a license of which any row is known. */
  listGroups(license: number): readonly (readonly RowValue[])[] {
    const groups = [...(this.#licenses.get(license)?.groups.values() ?? [])];
    const rows = groups.map((group) => [...group.values()].find((row) => row !== null));
    return rows
      .filter((row) => row !== undefined)
      .map((row) => this.spec.group.map((name) => row[name] as RowValue));
  }

  /** Every row of this group was read. */
  complete(group: readonly RowValue[]): void {
    this.#knowledgeOf(group[0] as RowValue).complete.add(nameOf(group));
  }

  /** Takes in the rows of a license that end first, of which `limit` were asked for. */
  learnSoonest(license: number, rows: readonly Row[], limit: number): void {
    this.learn(rows);
    const known = this.#knowledgeOf(license);
    known.limit = limit;
    const last = rows.length < limit ? Number.POSITIVE_INFINITY : (rows.at(-1)?.ends_at as number);
    known.horizon = Math.max(known.horizon, last);
  }

  /** How many of those that end first were asked for until now. */
  soonestLimit(license: number): number {
    return this.#licenses.get(license)?.limit ?? 0;
  }

  /** Every row of the license was read. */
  completeLicense(license: number): void {
    this.#knowledgeOf(license).horizon = Number.POSITIVE_INFINITY;
  }

  get isChanged(): boolean {
    return this.#changes.size > 0;
  }

  /** What has to be written. It stays known. */
  takeChanges(): Changes {
    const changes = this.#changes;
    this.#changes = new Map();
    this.#journal(() => {
      this.#changes = changes;
    });
    return changes;
  }

  /** A statement that was not made here changes any of the rows. */
  forget(): void {
    const licenses = this.#licenses;
    this.#licenses = new Map();
    this.#journal(() => {
      this.#licenses = licenses;
    });
  }

  #knowledgeOf(license: RowValue): Knowledge {
    let known = this.#licenses.get(license);
    if (known === undefined) {
      known = { groups: new Map(), complete: new Set(), horizon: 0, limit: 0 };
      this.#licenses.set(license, known);
    }
    return known;
  }

  #groupOf(row: Row): Map<string, Row | null> {
    const { groups } = this.#knowledgeOf(row.license_id as RowValue);
    const name = nameOf(this.spec.group.map((column) => row[column] as RowValue));
    let group = groups.get(name);
    if (group === undefined) {
      group = new Map();
      groups.set(name, group);
    }
    return group;
  }

  #keyOf(row: Row): string {
    return nameOf(this.spec.key.map((column) => row[column] as RowValue));
  }
}

/** No text of ours holds this character. */
const SEPARATOR = '\u0000';

function nameOf(values: readonly RowValue[]): string {
  return values.join(SEPARATOR);
}

function restore<T>(map: Map<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

/** As the database orders them: by the end, then by user and feature. */
function byEnd(a: Row, b: Row): number {
  const difference = (a.ends_at as number) - (b.ends_at as number);
  if (difference !== 0) return difference;
  return compareTexts(a.user, b.user) || compareTexts(a.feature, b.feature);
}

function compareTexts(a: RowValue | undefined, b: RowValue | undefined): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}
