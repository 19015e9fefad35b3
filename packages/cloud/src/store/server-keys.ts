import { createHash } from 'node:crypto';
import { record, type Shelf } from './shelf.ts';

/** The key with which the server on a machine signs; `null` when it is not known yet. */
export function findServerKey({ sql }: Shelf, hardwareId: string): string | null {
  return (sql.findServerKey.get(hardwareId)?.server_key as string | undefined) ?? null;
}

const FINGERPRINT_LENGTH = 12;

/** Inside a transaction only. */
export function learnServerKey(shelf: Shelf, hardwareId: string, serverKey: string, now: number): void {
  shelf.sql.putServerKey.run(hardwareId, serverKey, now);
  const fingerprint = createHash('sha256').update(serverKey).digest('hex').slice(0, FINGERPRINT_LENGTH);
  const facts = { hardware_id: hardwareId, fingerprint };
  record(shelf, { kind: 'server_key_learned', facts }, null, now);
}
