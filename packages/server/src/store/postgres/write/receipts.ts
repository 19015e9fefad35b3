import type { PostgresRowOf } from '../../engine/tables.ts';

type Receipted = Pick<PostgresRowOf<'license'>, 'receipts'>;

/** Of so many lanes the last batch on a row is remembered: a few of each server. */
const MAX_RECEIPTS = 24;

/** Whose batch it is: a lane of a server has one under way at a time. */
export interface BatchName {
  readonly server: string;
  readonly lane: string;
  readonly batch: string;
}

/**
 * Every row that a batch locks and changes says which batch of which lane of which server was the last. A
 * server whose connection broke while it committed asks the row: as long as it waits for the answer of one
 * batch it begins no other in that lane, so what the row says of the lane is what became of that batch.
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
