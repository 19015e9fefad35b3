import type { PostgresRowOf } from '../../engine/tables.ts';

type Receipted = Pick<PostgresRowOf<'license'>, 'receipts'>;

/** How many lanes a row remembers the last batch of: a few of each server. */
const MAX_RECEIPTS = 24;

/** Names a batch. No server uses a number twice. */
export interface BatchName {
  readonly server: string;
  readonly batch: string;
}

/**
 * Every row that a batch locks and changes remembers the last batch of each lane of each server. A server
 * whose connection broke during a commit looks there. Until it knows, it begins no other batch in any of the
 * lanes, so the rows name that batch if it was committed.
 */
export function withReceipt(row: Receipted, lane: string, name: BatchName | null): string {
  if (name === null) return row.receipts;
  const key = `${name.server} ${lane}`;
  const { [key]: _, ...others } = readReceipts(row);
  const kept = Object.entries(others).slice(1 - MAX_RECEIPTS);
  return JSON.stringify(Object.fromEntries([...kept, [key, name.batch]]));
}

export function hasReceipt(row: Receipted, { server, batch }: BatchName): boolean {
  const receipts = Object.entries(readReceipts(row));
  return receipts.some(([key, value]) => value === batch && key.startsWith(`${server} `));
}

function readReceipts(row: Receipted): Record<string, string> {
  return JSON.parse(row.receipts) as Record<string, string>;
}
