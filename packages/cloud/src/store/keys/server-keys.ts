import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { type FilePurpose, judgeServerKey, type KnownKey } from '../../core/judge-request.ts';
import { isRefusal, type Refusal } from '../../core/refusal.ts';
import { type CloudStore, record } from '../cloud-store.ts';
import type { CallerKey } from './keys.ts';
import { type Held, holdForVendor } from './waiting-keys.ts';

/** The parts of an offline file that decide whether it may speak for its machine. */
export interface SignedFile {
  readonly asks: FilePurpose;
  readonly hardwareId: string;
  /** `null`: the file has none. */
  readonly serverKey: string | null;
  /** The pair of API keys that vouches for it; `null`: none does. */
  readonly vouchedBy: Pick<CallerKey, 'customer'> | null;
  /** The key of the server's grants in the file; `null`: it has none. */
  readonly grantKey: string | null;
  /** The licenses in the file. */
  readonly licenseIds: readonly number[];
  /** The address that submitted it; `null`: the vendor did. */
  readonly from: string | null;
}

/** The identity key of the server on a machine; `null` if none is known. */
export function findServerKey({ sql }: CloudStore, hardwareId: string): string | null {
  return (sql.findServerKey.get(hardwareId)?.server_key as string | undefined) ?? null;
}

/** Returns `null` if the file may speak for its machine. Call only inside a transaction, before any write. */
export function checkServerKey(store: CloudStore, file: SignedFile, now: number): Refusal | Held | null {
  const { hardwareId, serverKey, vouchedBy } = file;
  const isVouched = vouchedBy !== null && isOwnMachine(store, hardwareId, vouchedBy);
  const verdict = judgeServerKey({
    ...file,
    isVouched,
    claimed: serverKey,
    known: findKnown(store, file),
    hasLicense: store.sql.findMachine.get(hardwareId) !== undefined,
    isSigned: findSigned(store, file),
  });
  if (isRefusal(verdict)) return verdict;
  if (verdict === 'keep' || serverKey === null) return null;
  if (verdict === 'wait') return holdForVendor(store, { ...file, serverKey }, now);
  const customer = isVouched ? vouchedBy.customer : null;
  // The new key does not vouch for grant keys that came with another one.
  if (serverKey !== findServerKey(store, hardwareId)) store.sql.forgetUnproven.run(hardwareId);
  store.sql.putServerKey.run(hardwareId, serverKey, isVouched ? 1 : 0, customer, now);
  const facts = { hardware_id: hardwareId, fingerprint: publicKeyFingerprint(serverKey) };
  record(store, { kind: 'server_key_learned', facts }, null, now);
  return null;
}

/** Whether no other customer has a license on the machine: a pair must not take over another's server. */
export function isOwnMachine(
  { sql }: CloudStore,
  machine: string,
  { customer }: Pick<CallerKey, 'customer'>,
): boolean {
  return sql.findForeignDevice.get({ machine, customer }) === undefined;
}

function findKnown(store: CloudStore, { hardwareId, licenseIds }: SignedFile): KnownKey | null {
  const key = findServerKey(store, hardwareId);
  return key === null ? null : { key, isConfirmed: isConfirmedFor(store, hardwareId, licenseIds) };
}

/** A key that a customer's pair vouched for is confirmed for the licenses of that customer only. */
export function isConfirmedFor(
  { sql }: CloudStore,
  hardwareId: string,
  licenseIds: readonly number[],
): boolean {
  const row = sql.findServerKey.get(hardwareId);
  const customer = (row?.customer ?? null) as string | null;
  if (row?.confirmed !== 1 || customer === null) return row?.confirmed === 1;
  return licenseIds.every((id) => sql.findForeignLicense.get(id, customer) === undefined);
}

/** With several licenses, all must be signed. See `ServerKeyFacts`. */
function findSigned({ sql }: CloudStore, { licenseIds, hardwareId }: SignedFile): boolean | null {
  const devices = licenseIds
    .map((id) => sql.findDevice.get(id, hardwareId))
    .filter((device) => device !== undefined);
  if (devices.length > 0) return devices.every(({ signed }) => signed === 1);
  const others = sql.findMachine.all(hardwareId);
  return others.length === 0 || others.some(({ signed }) => signed === 1) ? null : false;
}

export interface ListedKey {
  readonly hardwareId: string;
  readonly fingerprint: string;
  /** Valid for every license of its machine; otherwise only for those it activated. */
  readonly isConfirmed: boolean;
  /** By the vendor, and nothing was given back since: the grant keys that it tells are proven. */
  readonly isApproved: boolean;
  readonly learnedAt: number;
}

/** The known keys of machines: those that have the license, or all. */
export function listServerKeys({ sql }: CloudStore, licenseId: number | null): readonly ListedKey[] {
  return sql.listServerKeys.all({ license: licenseId }).map((row) => ({
    hardwareId: row.hardware_id as string,
    fingerprint: publicKeyFingerprint(row.server_key as string),
    isConfirmed: row.confirmed === 1,
    isApproved: row.approved === 1,
    learnedAt: row.learned_at as number,
  }));
}
