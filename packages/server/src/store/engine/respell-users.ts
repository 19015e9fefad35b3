import { foldCase, userNameOf } from '../../core/nouns/user-name.ts';
import type { Row } from './rows.ts';

/**
 * Gives users another name wherever the store keeps one. Those whose names become equal are one from then on:
 * of what both hold, one slot is kept, with the later end and the later date of a borrow. The other one ends,
 * and is collected as every ended slot is: that makes the number in use right, and leaves a record. Until
 * then it stands under its old name, which nobody can send any more.
 */
export interface Respelling {
  readonly tables: readonly NameTable[];
  /** Whose rows have to be looked at, of all who have some in a table. */
  listInvolved(users: readonly string[]): readonly string[];
  /** The row under its new name; the same row where that is the old one. */
  rename(row: Row, table: NameTable): Row;
}

export interface NameTable {
  readonly name: string;
  /** What tells rows apart. */
  readonly key: readonly string[];
  /** What becomes of rows that have become one user's. */
  merge(group: readonly Renamed[]): readonly Row[];
}

interface Renamed {
  readonly row: Row;
  readonly renamed: Row;
}

const REGISTRATION: NameTable = {
  name: 'registration',
  key: ['license_id', 'user'],
  merge: mergeSlots,
};
const FEATURE_SLOT: NameTable = {
  name: 'feature_slot',
  key: ['license_id', 'user', 'feature'],
  merge: mergeSlots,
};
const ENDED_BORROW: NameTable = {
  name: 'ended_borrow',
  key: ['license_id', 'user', 'feature'],
  merge: (group) => [latest(group, 'borrowed_until').renamed],
};
const DENIAL: NameTable = {
  name: 'denial',
  key: ['license_id', 'user', 'feature', 'code'],
  merge: mergeDenials,
};
const REMEMBERED_ANSWER: NameTable = {
  name: 'remembered_answer',
  key: ['license_id', 'operation', 'user', 'key'],
  merge: (group) => [latest(group, 'answered_at').renamed],
};

/** What an earlier release stored as it was sent becomes what a user is. */
export const TO_USER_NAMES: Respelling = {
  ...byName(userNameOf),
  tables: [REGISTRATION, FEATURE_SLOT, DENIAL, REMEMBERED_ANSWER],
};

/** First answers stay under the name as it was sent; see `answerScope`. */
export const TO_FOLDED_NAMES: Respelling = {
  ...byName(foldCase, (row, table) =>
    table === REGISTRATION || table === ENDED_BORROW ? { spelling: row.user as string } : {},
  ),
  tables: [REGISTRATION, FEATURE_SLOT, DENIAL, ENDED_BORROW],
};

/** Where the holders of slots are spelled otherwise than they are named; who holds one now comes last. */
export const LIST_SPELLINGS = `
  SELECT license_id, "user", spelling, 1 AS rank FROM ended_borrow WHERE spelling IS NOT NULL
  UNION ALL SELECT license_id, "user", spelling, 2 FROM registration WHERE spelling IS NOT NULL
  ORDER BY rank`;

/** Back to how each slot's holder was spelled. Denials are soon forgotten, and stay as they are. */
export function toSpelledNames(spellings: readonly Row[]): Respelling {
  const holderOf = (row: Row) => `${row.license_id} ${row.user}`;
  const spelled = new Map(spellings.map((row) => [holderOf(row), row.spelling as string]));
  const involved = new Set(spellings.flatMap((row) => [row.user as string, row.spelling as string]));
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

function byName(
  nameOf: (user: string) => string,
  more: (row: Row, table: NameTable) => Row = () => ({}),
): Omit<Respelling, 'tables'> {
  return {
    listInvolved(users) {
      const renamed = users.filter((user) => nameOf(user) !== user);
      return [...new Set([...renamed, ...renamed.map(nameOf)])];
    },
    rename(row, table) {
      const user = nameOf(row.user as string);
      return user === row.user ? row : { ...row, user, ...more(row, table) };
    },
  };
}

/** Rows that go, and rows that come. */
interface Rewrite {
  readonly removed: readonly Row[];
  readonly added: readonly Row[];
}

/** What becomes of the rows of all who are involved. */
export function planRespelling(table: NameTable, rows: readonly Row[], respelling: Respelling): Rewrite {
  const placeOf = ({ renamed }: Renamed) => JSON.stringify(table.key.map((column) => renamed[column]));
  const all = rows.map((row) => ({ row, renamed: respelling.rename(row, table) }));
  const groups = [...Map.groupBy(all, placeOf).values()];
  const touched = groups.filter((group) => group.some(({ row, renamed }) => row !== renamed));
  return {
    removed: touched.flat().map(({ row }) => row),
    added: touched.flatMap((group) => (group.length === 1 ? group.map(renamedOf) : table.merge(group))),
  };
}

function renamedOf({ renamed }: Renamed): Row {
  return renamed;
}

/** The row that has the name already is the one that stays: the old names of the others are free. */
function mergeSlots(group: readonly Renamed[]): readonly Row[] {
  const last = latest(group, 'ends_at');
  const kept = group.find(({ row, renamed }) => row === renamed) ?? last;
  const borrows = group.map(({ row }) => row.borrowed_until as number | null);
  const dates = borrows.filter((until) => until !== null);
  const merged = {
    ...last.renamed,
    registered_at: Math.min(...group.map(({ row }) => row.registered_at as number)),
    borrowed_until: dates.length === 0 ? null : Math.max(...dates),
  };
  const others = group.filter((one) => one !== kept).map(({ row }) => row);
  return [
    merged,
    ...others.map((row) => ({ ...row, ends_at: row.registered_at, borrowed_until: null }) as Row),
  ];
}

function mergeDenials(group: readonly Renamed[]): readonly Row[] {
  const repeated = group.reduce((sum, { row }) => sum + (row.repeated as number), 0);
  return [{ ...latest(group, 'denied_at').renamed, repeated }];
}

function latest(group: readonly Renamed[], column: string): Renamed {
  return group.reduce((last, one) =>
    (one.row[column] as number) > (last.row[column] as number) ? one : last,
  );
}
