import { DATE_TOLERANCE_MS } from '@berth/protocol/cloud/cloud-authorization';
import type { CloudStore } from '../cloud-store.ts';

/** More than all servers of a large vendor ask in half an hour. */
const MAX_OF_PAIR = 100_000;

/**
 * Returns whether the nonce is new, and takes it. It is remembered until no request with its date is accepted
 * any more. Call only inside a transaction, and only for proven requests: strangers must not fill the table.
 */
export function takeNonce(
  { sql }: CloudStore,
  { pair, nonce, sentAt }: { readonly pair: string; readonly nonce: string; readonly sentAt: number },
  now: number,
): boolean {
  sql.removeNoncesBefore.run(now);
  const isFull = (sql.countNonces.get(pair)?.count as number) >= MAX_OF_PAIR;
  return !isFull && sql.addNonce.run(pair, nonce, sentAt + DATE_TOLERANCE_MS).changes === 1;
}
