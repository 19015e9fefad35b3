import type { CsvValue } from '../csv.ts';

/** A report on the history as a table: for CSV, and for terminals. */
interface HistoryTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CsvValue[])[];
}

type Wire = Readonly<Record<string, unknown>>;

const SUBJECT = ['license_id', 'product', 'name', 'feature'];

const USER_COLUMNS = ['user', 'others', ...SUBJECT, 'grants', 'denials', 'sessions', 'held_ms', 'last_at'];

/** Which list of the answer becomes the rows, and its columns. */
const REPORTS = {
  denials: {
    list: ({ denials }: Wire) => denials,
    columns: [
      ...['first_at', 'last_at', ...SUBJECT, 'reason', 'user', 'others', 'host', 'address', 'count'],
      'explanation',
    ],
  },
  users: { list: ({ users }: Wire) => users, columns: USER_COLUMNS },
  'user-days': { list: ({ users }: Wire) => users, columns: ['day', ...USER_COLUMNS] },
  consumption: { list: ({ days }: Wire) => days, columns: ['day', ...SUBJECT, 'amount'] },
  waits: {
    list: ({ waits }: Wire) => waits,
    columns: [
      ...[...SUBJECT, 'served', 'median_ms', 'p90_ms', 'longest_ms'],
      ...['unserved', 'unserved_median_ms', 'unserved_longest_ms'],
    ],
  },
  'what-if': { list: ({ curve }: Wire) => curve, columns: ['slots', 'denials', 'waiting_ms'] },
  slots: {
    list: ({ series }: Wire) =>
      (series as readonly (Wire & { readonly points: readonly Wire[] })[]).flatMap(({ points, ...one }) =>
        points.map((point) => ({ ...one, ...point })),
      ),
    columns: [
      ...['at', ...SUBJECT, 'slots', 'in_use', 'average', 'peak', 'borrowed', 'grants', 'returns'],
      'denials',
    ],
  },
} as const satisfies Readonly<Record<string, { list(answer: Wire): unknown; columns: readonly string[] }>>;

export type HistoryReport = keyof typeof REPORTS;

export function historyTable(report: HistoryReport, answer: object): HistoryTable {
  const { list, columns } = REPORTS[report];
  const rows = list(answer as Wire) as readonly Wire[];
  return { columns, rows: rows.map((row) => columns.map((column) => (row[column] ?? null) as CsvValue)) };
}
