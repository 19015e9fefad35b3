import type { PostgresRowOf } from '../../engine/tables.ts';

type Receipted = Pick<PostgresRowOf<'license'>, 'receipts'>;

/** How many lanes a row remembers the last batch of: a few of each server. */
const MAX_RECEIPTS = 24;

/** Names a batch. A lane of a server has one under way at a time. */
export interface BatchName {
  readonly server: string;
  readonly lane: string;
  readonly batch: string;
}

/**
 * Every row that a batch locks and changes remembers the last batch of each lane of each server. A server
 * whose connection broke during a commit looks there. Until it knows, it begins no other batch in that lane,
 * so the row names that batch if it was committed.
 */
export function withReceipt(row: Receipted, name: BatchName | null): string {
  if (name === null) return row.receipts;
  const { [keyOf(name)]: _, ...others } = readReceipts(row);
  const kept = Object.entries(others).slice(1 - MAX_RECEIPTS);
  return JSON.stringify(Object.fromEntries([...kept, [keyOf(name), name.batch]]));
}

export function hasReceipt(row: Receipted, name: BatchName): boolean {
  return readReceipts(row)[keyOf(name)] === name.batch;
}

function keyOf({ server, lane }: BatchName): string {
  return `${server} ${lane}`;
}

function readReceipts(row: Receipted): Record<string, string> {
  return JSON.parse(row.receipts) as Record<string, string>;
}
