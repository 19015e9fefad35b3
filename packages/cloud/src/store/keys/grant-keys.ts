import { type OkpJwk, readOkpKey } from '@berth/protocol/grant/jws';
import type { Licensed } from '../../core/decision.ts';
import { isGrantKeyProven } from '../../core/judge-grant-key.ts';
import type { CloudStore } from '../cloud-store.ts';
import { isConfirmedFor } from './server-keys.ts';

export function jwkOf(x: string): OkpJwk {
  return { kty: 'OKP', crv: 'Ed25519', x };
}

interface GivenGrantKey {
  readonly x: string;
  /** A pair of keys that opens the license has signed the file. */
  readonly isVouched: boolean;
}

/**
 * Notes the grant key in a file that may speak for its machine, and whether it is proven. What is no key is
 * ignored. Call only inside a transaction.
 */
export function recordGrantKey(store: CloudStore, licensed: Licensed, { x, isVouched }: GivenGrantKey): void {
  const { sql } = store;
  const { license, hardwareId } = licensed;
  if (readOkpKey(jwkOf(x)) === null) return;
  const device = sql.findDevice.get(license.id, hardwareId);
  const machine = { machine: hardwareId, customer: license.customer };
  const isProven = isGrantKeyProven({
    isVouched,
    isApproved: sql.findServerKey.get(hardwareId)?.approved === 1,
    isShared: sql.findOthersProven.get(machine) !== undefined,
    isConfirmed: isConfirmedFor(store, hardwareId, [license.id]),
    wasProven: device?.proven === 1,
    isSameKey: device?.grant_key === x,
  });
  setGrantKey(store, licensed, x, isProven);
}

/** Call only inside a transaction. */
export function setGrantKey(
  { sql }: CloudStore,
  { license, hardwareId }: Licensed,
  x: string,
  isProven: boolean,
): void {
  sql.setGrantKey.run(x, isProven ? 1 : 0, license.id, hardwareId);
}

/** The key that certificates for this activation name. */
interface KnownGrantKey {
  readonly grantKey: OkpJwk;
  readonly isProven: boolean;
}

/** Returns null if the server never sent one. */
export function findGrantKey({ sql }: CloudStore, { license, hardwareId }: Licensed): KnownGrantKey | null {
  const row = sql.findDevice.get(license.id, hardwareId);
  const x = (row?.grant_key ?? null) as string | null;
  return x === null ? null : { grantKey: jwkOf(x), isProven: row?.proven === 1 };
}
