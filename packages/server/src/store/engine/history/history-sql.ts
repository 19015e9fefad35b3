import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../core/nouns/instant.ts';
import { type Count, greater, lesser, type Read, reads, type Write, writesTo } from '../sql.ts';
import { columnsOf, quoteNames, type RowOf, type TableName, tableOf } from '../tables.ts';

/** How the values of a column become one when rows become one. `same`: kept if they do not differ. */
type Fold = 'sum' | 'max' | 'min' | 'same';

const FOLDS = {
  history_slot: {
    grants: 'sum',
    returns: 'sum',
    denials: 'sum',
    peak: 'max',
    net: 'sum',
    late: 'sum',
    borrowed: 'sum',
  },
  history_person: { grants: 'sum', denials: 'sum', sessions: 'sum', held_ms: 'sum', last_at: 'max' },
  history_denial: {
    denials: 'sum',
    first_at: 'min',
    last_at: 'max',
    slots: 'same',
    in_use: 'same',
    borrowed: 'same',
    next_free_at: 'same',
  },
  history_consumption: { amount: 'sum' },
  history_duration: { sessions: 'sum' },
  history_wait: { served: 'sum', unserved: 'sum' },
} as const satisfies Readonly<Partial<Record<TableName, Readonly<Record<string, Fold>>>>>;

export type HistoryTable = keyof typeof FOLDS;

export const HISTORY_TABLES = Object.keys(FOLDS) as readonly HistoryTable[];

/** Ends an INSERT whose rows are added to those with the same key. Nothing has to be read for it. */
export function addToRow(table: HistoryTable): string {
  const set = Object.entries<Fold>(FOLDS[table]).flatMap(([column, fold]) => {
    if (fold === 'same') return [];
    return `${column} = ${combine(fold, `${table}.${column}`, `excluded.${column}`)}`;
  });
  return `ON CONFLICT (${quoteNames(tableOf(table).key)}) DO UPDATE SET ${set.join(', ')}`;
}

function combine(fold: Exclude<Fold, 'same'>, a: string, b: string): string {
  if (fold === 'sum') return `${a} + ${b}`;
  return fold === 'max' ? greater(a, b) : lesser(a, b);
}

function aggregate(fold: Fold, column: string): string {
  if (fold === 'same') return `CASE WHEN min(${column}) = max(${column}) THEN max(${column}) END`;
  return fold === 'sum' ? `sum(${column})` : `${fold}(${column})`;
}

/**
 * Adds up the rows of a range under another key. `moved`: new values, which do not depend on the row, and
 * sums of another kind. The rows themselves must be deleted afterwards.
 */
function moveRows(table: HistoryTable, where: string, moved: Readonly<Record<string, string>>): string {
  const columns = columnsOf(table);
  const folds: Readonly<Record<string, Fold | undefined>> = FOLDS[table];
  const values = columns.map((column) => {
    const fold = folds[column];
    return moved[column] ?? (fold === undefined ? `"${column}"` : aggregate(fold, column));
  });
  const kept = tableOf(table).key.filter((column) => !(column in moved));
  return `INSERT INTO ${table} (${quoteNames(columns)}) SELECT ${values.join(', ')} FROM ${table}
    WHERE ${where} GROUP BY ${quoteNames(kept)} ${addToRow(table)}`;
}

const STEP = 'license_id = :id AND grain = :grain AND at >= :from AND at < :to';
const OLD = 'license_id = :id AND at < :to';
const NAMED = 'license_id = :id AND "user" = :user AND others = 0';

/** The bucket that a step is folded into. */
const INTO = { grain: 'CAST(:into AS bigint)', at: 'CAST(:at AS bigint)' };

/** The minute that everything after it is moved to when the clock goes back. */
const NOW_BUCKET = { grain: `${MINUTE_MS}`, at: 'CAST(:minute AS bigint)' };

const UNNAMED = { user: "''", others: '1' };

/** By how much the recorded changes of a license or feature differ from what is stored. */
const RECORDED = `SELECT license_id, feature, sum(net) AS net, sum(borrowed) AS borrowed
  FROM history_slot GROUP BY license_id, feature`;
const STORED = `SELECT license_id, '' AS feature, count(*) AS net, count(borrowed_until) AS borrowed
    FROM registration GROUP BY license_id
  UNION ALL SELECT license_id, feature, count(*), count(borrowed_until)
    FROM feature_slot GROUP BY license_id, feature`;

/** Corrects the numbers in use where slots have changed without a decision. */
const SQUARE = `INSERT INTO history_slot (license_id, feature, grain, at, grants, returns, denials, peak,
    net, late, borrowed)
  SELECT license_id, feature, ${NOW_BUCKET.grain}, ${NOW_BUCKET.at}, 0, 0, 0, 0, sum(net), 0, sum(borrowed)
  FROM (SELECT * FROM (${STORED}) AS stored
    UNION ALL SELECT license_id, feature, -net, -borrowed FROM (${RECORDED}) AS recorded) AS difference
  WHERE license_id > 0 GROUP BY license_id, feature HAVING sum(net) <> 0 OR sum(borrowed) <> 0
  ${addToRow('history_slot')}`;

/** Chunks of rows that are finer or older than they may be. */
function listOld(table: HistoryTable, where: string, lengthMs: number): string {
  return `SELECT DISTINCT license_id, at - at % ${lengthMs} AS at FROM ${table} WHERE ${where}`;
}

export const HISTORY_STATEMENTS = {
  ...writesTo('history_slot', {
    foldSlotHistory: moveRows('history_slot', STEP, {
      ...INTO,
      late: 'sum(late + net * (at - CAST(:at AS bigint)))',
    }),
    removeSlotHistory: `DELETE FROM history_slot WHERE ${STEP}`,
    /** What is forgotten still counts for the number in use after it. */
    sumOldSlotHistory: moveRows('history_slot', `${OLD} AND grain > 0`, {
      grain: '0',
      at: '0',
      grants: '0',
      returns: '0',
      denials: '0',
      peak: '0',
      late: '0',
    }),
    removeOldSlotHistory: `DELETE FROM history_slot WHERE ${OLD} AND grain > 0`,
    clampSlotHistory: moveRows('history_slot', 'at > :minute', {
      ...NOW_BUCKET,
      late: 'sum(net) * (CAST(:now AS bigint) - CAST(:minute AS bigint))',
    }),
    removeLaterSlotHistory: 'DELETE FROM history_slot WHERE at > :minute',
  }),
  ...writesTo('history_slot', { squareSlotHistory: SQUARE }, ['registration', 'feature_slot']),
  ...writesTo('history_person', {
    foldPersonHistory: moveRows('history_person', STEP, INTO),
    removePersonHistory: `DELETE FROM history_person WHERE ${STEP}`,
    removeOldPersonHistory: `DELETE FROM history_person
      WHERE ${OLD} AND (grain = ${DAY_MS} OR at < :month)`,
    clampPersonHistory: moveRows('history_person', 'at > :day', {
      grain: `${DAY_MS}`,
      at: 'CAST(:day AS bigint)',
      last_at: lesser('max(last_at)', 'CAST(:now AS bigint)'),
    }),
    removeLaterPersonHistory: 'DELETE FROM history_person WHERE at > :day',
    clampPersons: 'UPDATE history_person SET last_at = :now WHERE last_at > :now',
    forgetPersonHistory: moveRows('history_person', NAMED, UNNAMED),
    removeNamedPersonHistory: `DELETE FROM history_person WHERE ${NAMED}`,
  }),
  ...writesTo('history_denial', {
    foldDenialHistory: moveRows('history_denial', STEP, INTO),
    removeDenialHistory: `DELETE FROM history_denial WHERE ${STEP}`,
    removeOldDenialHistory: `DELETE FROM history_denial WHERE ${OLD}`,
    clampDenialHistory: moveRows('history_denial', 'at > :minute', {
      ...NOW_BUCKET,
      first_at: 'CAST(:now AS bigint)',
      last_at: 'CAST(:now AS bigint)',
    }),
    removeLaterDenialHistory: 'DELETE FROM history_denial WHERE at > :minute',
    clampDenialTimes: `UPDATE history_denial SET first_at = ${lesser('first_at', ':now')}, last_at = :now
      WHERE last_at > :now`,
    forgetDenialHistory: moveRows('history_denial', NAMED, { ...UNNAMED, host: "''", address: "''" }),
    removeNamedDenialHistory: `DELETE FROM history_denial WHERE ${NAMED}`,
  }),
  ...writesTo('history_consumption', {
    removeOldConsumptionHistory: `DELETE FROM history_consumption WHERE ${OLD}`,
    clampConsumptionHistory: moveRows('history_consumption', 'at > :day', { at: 'CAST(:day AS bigint)' }),
    removeLaterConsumptionHistory: 'DELETE FROM history_consumption WHERE at > :day',
  }),
  ...writesTo('history_duration', {
    removeOldDurationHistory: `DELETE FROM history_duration WHERE ${OLD}`,
    clampDurationHistory: moveRows('history_duration', 'at > :day', { at: 'CAST(:day AS bigint)' }),
    removeLaterDurationHistory: 'DELETE FROM history_duration WHERE at > :day',
  }),
  ...writesTo('history_wait', {
    removeOldWaitHistory: `DELETE FROM history_wait WHERE ${OLD}`,
    clampWaitHistory: moveRows('history_wait', 'at > :day', { at: 'CAST(:day AS bigint)' }),
    removeLaterWaitHistory: 'DELETE FROM history_wait WHERE at > :day',
  }),
  countNamedHistory: reads<Count>(
    ['history_person', 'history_denial', 'license'],
    `SELECT (SELECT count(*) FROM license JOIN history_person ON license_id = license.id
         WHERE "user" = :user AND others = 0)
       + (SELECT count(*) FROM license JOIN history_denial ON license_id = license.id
         WHERE "user" = :user AND others = 0) AS count`,
  ),
} as const satisfies Readonly<Record<string, Read | Write>>;

/** What must be made coarser, at most so many chunks of each kind. */
export const LIST_OLD_HISTORY = {
  minutes: `${listOld('history_slot', `grain = ${MINUTE_MS} AND at < :minutes`, HOUR_MS)}
    UNION ${listOld('history_denial', `grain = ${MINUTE_MS} AND at < :minutes`, HOUR_MS)}`,
  hours: `${listOld('history_slot', `grain = ${HOUR_MS} AND at < :hours`, DAY_MS)}
    UNION ${listOld('history_denial', `grain = ${HOUR_MS} AND at < :hours`, DAY_MS)}`,
  days: listOld('history_person', `grain = ${DAY_MS} AND at < :days`, DAY_MS),
  old: `${listOld('history_slot', 'grain > 0 AND at < :old', DAY_MS)}
    UNION ${listOld('history_denial', 'at < :old', DAY_MS)}
    UNION ${listOld('history_person', 'at < :month', DAY_MS)}
    UNION ${listOld('history_consumption', 'at < :old', DAY_MS)}
    UNION ${listOld('history_duration', 'at < :old', DAY_MS)}
    UNION ${listOld('history_wait', 'at < :old', DAY_MS)}`,
} as const;

export type HistoryRow<T extends HistoryTable> = RowOf<T>;
