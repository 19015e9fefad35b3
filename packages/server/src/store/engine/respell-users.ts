import { mergePrograms, type Programs } from '../../core/nouns/registration.ts';
import { foldCase } from '../../core/nouns/user-name.ts';
import { pickValues } from './row-sql.ts';
import type { Row } from './rows.ts';
import { type TableName, tableOf } from './tables.ts';

/**
 * Renames users wherever the store names one. Users whose names become equal become one: of two slots, one is
 * kept, with the later end and the later borrow date. The other one ends and is collected like every ended
 * slot, which corrects the number in use and leaves a record. Until then it keeps its old name, which nobody
 * can send any more.
 */
export interface Respelling {
  readonly tables: readonly NameTable[];
  /** Returns the users, of those in a table, whose rows may change. */
  listInvolved(users: readonly string[]): readonly string[];
  /** The row with its new name; the same row if the name stays. */
  rename(row: UserRow, table: NameTable): UserRow;
}

export interface NameTable {
  readonly name: TableName;
  /** Merges rows whose keys have become equal. */
  merge(group: readonly Renamed[]): readonly UserRow[];
}

/** Slots were merged without being counted, so that the rules count all of them anew. */
export const FORGET_COUNTS = 'UPDATE license SET counts = NULL';

/** A row of any of these tables. */
export type UserRow = Row & { readonly user: string };

interface Renamed {
  readonly row: UserRow;
  readonly renamed: UserRow;
}

const REGISTRATION: NameTable = { name: 'registration', merge: mergeSlots };
const FEATURE_SLOT: NameTable = { name: 'feature_slot', merge: mergeSlots };
const ENDED_BORROW: NameTable = { name: 'ended_borrow', merge: keepLatestBorrow };
const DENIAL: NameTable = { name: 'denial', merge: mergeDenials };

/** First answers stay under the name as it was sent; see `answerScope`. */
export const TO_FOLDED_NAMES: Respelling = {
  tables: [REGISTRATION, FEATURE_SLOT, DENIAL, ENDED_BORROW],
  listInvolved(users) {
    const renamed = users.filter((user) => foldCase(user) !== user);
    return [...new Set([...renamed, ...renamed.map(foldCase)])];
  },
  rename(row, table) {
    const user = foldCase(row.user);
    if (user === row.user) return row;
    const hasSpelling = table === REGISTRATION || table === ENDED_BORROW;
    return { ...row, user, ...(hasSpelling && { spelling: row.user }) };
  },
};

export type SpellingRow = UserRow & { readonly spelling: string };

/** Holders whose spelling differs from their name; current holders come last. */
export const LIST_SPELLINGS = `
  SELECT license_id, "user", spelling, 1 AS rank FROM ended_borrow WHERE spelling IS NOT NULL
  UNION ALL SELECT license_id, "user", spelling, 2 FROM registration WHERE spelling IS NOT NULL
  ORDER BY rank`;

/** Back to how each slot's holder was spelled. Denials are soon forgotten, and stay as they are. */
export function toSpelledNames(spellings: readonly SpellingRow[]): Respelling {
  const holderOf = (row: Row) => `${row.license_id} ${row.user}`;
  const spelled = new Map(spellings.map((row) => [holderOf(row), row.spelling]));
  const involved = new Set(spellings.flatMap(({ user, spelling }) => [user, spelling]));
  return {
    tables: [FEATURE_SLOT, REGISTRATION, ENDED_BORROW],
    listInvolved: (users) => users.filter((user) => involved.has(user)),
    rename(row, table) {
      const user = spelled.get(holderOf(row));
      if (user === undefined) return row;
      return table === FEATURE_SLOT ? { ...row, user } : { ...row, user, spelling: null };
    },
  };
}

/** Rows to remove, and rows to add. */
interface Rewrite {
  readonly removed: readonly UserRow[];
  readonly added: readonly UserRow[];
}

/** Plans the change for the rows of all users involved. */
export function planRespelling(table: NameTable, rows: readonly UserRow[], respelling: Respelling): Rewrite {
  const { key } = tableOf(table.name);
  const placeOf = ({ renamed }: Renamed) => JSON.stringify(pickValues(renamed, key));
  const all = rows.map((row) => ({ row, renamed: respelling.rename(row, table) }));
  const groups = [...Map.groupBy(all, placeOf).values()];
  const touched = groups.filter((group) => group.some(({ row, renamed }) => row !== renamed));
  return {
    removed: touched.flat().map(({ row }) => row),
    added: touched.flatMap((group) =>
      group.length === 1 ? group.map(({ renamed }) => renamed) : table.merge(group),
    ),
  };
}

/** The row that has the name already stays, so that the others can keep their old names until they end. */
function mergeSlots(group: readonly Renamed[]): readonly UserRow[] {
  const last = latest(group, 'ends_at');
  const kept = group.find(({ row, renamed }) => row === renamed) ?? last;
  const dates = numbersOf(group, 'borrowed_until');
  const merged = {
    ...last.renamed,
    registered_at: Math.min(...numbersOf(group, 'registered_at')),
    borrowed_until: dates.length === 0 ? null : Math.max(...dates),
    programs: mergePrograms(group.map(({ row }) => row.programs as Programs)),
  };
  const others = group.filter((one) => one !== kept).map(({ row }) => row);
  return [merged, ...others.map(endSlot)];
}

function endSlot(row: UserRow): UserRow {
  const end = row.registered_at ?? 0;
  return { ...row, ends_at: end, borrowed_until: null, ...('due_at' in row && { due_at: end }) };
}

function mergeDenials(group: readonly Renamed[]): readonly UserRow[] {
  const repeated = numbersOf(group, 'repeated').reduce((sum, one) => sum + one, 0);
  return [{ ...latest(group, 'denied_at').renamed, repeated }];
}

function keepLatestBorrow(group: readonly Renamed[]): readonly UserRow[] {
  return [latest(group, 'borrowed_until').renamed];
}

function latest(group: readonly Renamed[], column: string): Renamed {
  return group.reduce((last, one) => (Number(one.row[column]) > Number(last.row[column]) ? one : last));
}

function numbersOf(group: readonly Renamed[], column: string): readonly number[] {
  return group.map(({ row }) => row[column]).filter((value) => typeof value === 'number');
}
