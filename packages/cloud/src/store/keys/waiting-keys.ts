import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { type FilePurpose, hasRoomToWait, refuseWaiting, WAITING } from '../../core/judge-request.ts';
import { type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import type { Row } from '../rows.ts';

/** A refusal that keeps its writes, which `transact` would otherwise roll back. */
export class Held {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    this.refusal = refusal;
  }
}

/** Returns the held refusal after the transaction. */
export function release<T>(result: T | Held): T | Refusal {
  return result instanceof Held ? result.refusal : result;
}

interface HeldFile {
  readonly asks: FilePurpose;
  readonly hardwareId: string;
  readonly serverKey: string;
  readonly grantKey: string | null;
  readonly from: string | null;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Stores the key for the vendor's approval, and nothing else of the file. Call only inside a transaction. */
export function holdForVendor(store: CloudStore, file: HeldFile, now: number): Held {
  const { sql } = store;
  const { hardwareId, serverKey, grantKey, asks, from } = file;
  const fingerprint = publicKeyFingerprint(serverKey);
  sql.removeWaitingKeysBefore.run(now - WAITING.days * DAY_MS);
  const isThere = sql.findWaitingKey.get(hardwareId, serverKey) !== undefined;
  const isKept = isThere || makeRoom(store, hardwareId, from);
  if (isThere) sql.setWaitingGrantKey.run(grantKey, hardwareId, serverKey);
  if (isKept && !isThere) {
    sql.addWaitingKey.run(hardwareId, serverKey, grantKey, asks, from, now);
    const facts = { hardware_id: hardwareId, fingerprint, asks };
    record(store, { kind: 'server_key_waits', facts }, null, now);
  }
  return new Held(refuseWaiting(hardwareId, fingerprint, isKept));
}

/** Returns whether there is room for one more; for the vendor, makes room. */
function makeRoom({ sql }: CloudStore, machine: string, from: string | null): boolean {
  const row = sql.countWaitingKeys.get({ machine, from }) as Row;
  const ofMachine = row.of_machine as number;
  const inAll = row.in_all as number;
  const ofAddressAndMachine = row.of_address_and_machine as number;
  if (hasRoomToWait({ ofMachine, inAll, ofAddressAndMachine })) return true;
  if (from !== null) return false;
  sql.removeOldestWaitingKey.run({ machine: ofMachine < WAITING.perMachine ? null : machine });
  return true;
}

export interface WaitingKey {
  readonly hardwareId: string;
  readonly fingerprint: string;
  /** The key that signs its grants; null if the server sent none. */
  readonly grantKey: string | null;
  readonly asks: FilePurpose;
  /** The licenses on its machine. */
  readonly licenseKeys: string | null;
  readonly from: string | null;
  readonly cameAt: number;
}

/** Of one machine, or of all. */
export function listWaitingKeys({ sql }: CloudStore, hardwareId: string | null): readonly WaitingKey[] {
  return sql.listWaitingKeys.all({ machine: hardwareId }).map(toWaitingKey);
}

function toWaitingKey(row: Row): WaitingKey {
  return {
    hardwareId: row.hardware_id as string,
    fingerprint: publicKeyFingerprint(row.server_key as string),
    grantKey: row.grant_key as string | null,
    asks: row.asks as FilePurpose,
    licenseKeys: row.license_keys as string | null,
    from: row.came_from as string | null,
    cameAt: row.came_at as number,
  };
}

/** Sixteen chosen digits (64 bits) at the start of a fingerprint are infeasible to forge. */
const FINGERPRINT = /^[0-9a-f]{16,64}$/;

export interface ApprovedKey {
  readonly hardwareId: string;
  readonly fingerprint: string;
  /** The keys of its grants, which are certified from now on. */
  readonly grantKeys: readonly string[];
  /** The waiting key; `null`: the machine already has this key, and no file of it was waiting. */
  readonly waited: WaitingKey | null;
}

/**
 * Makes this the only key of the machine and drops others that wait for it. The grant keys sent with it are
 * proven by this.
 */
export function approveKey(
  store: CloudStore,
  hardwareId: string,
  typed: string,
  now: number,
): ApprovedKey | Refusal {
  const wanted = typed.toLowerCase();
  if (!FINGERPRINT.test(wanted)) {
    return refuse('validation_error', 'Give the fingerprint with all 64 digits, or its first 16.');
  }
  const { sql } = store;
  return transact(store, () => {
    const keys = sql.listApprovableKeys.all({ machine: hardwareId }).map((row) => row.server_key as string);
    const serverKey = keys.find((key) => publicKeyFingerprint(key).startsWith(wanted));
    if (serverKey === undefined) {
      const message = `No key with this fingerprint is waiting for machine "${hardwareId}".`;
      return refuse('device_not_found', message);
    }
    const fingerprint = publicKeyFingerprint(serverKey);
    const waiting = listWaitingKeys(store, hardwareId);
    const waited = waiting.find((one) => one.fingerprint === fingerprint) ?? null;
    const isNew = sql.findServerKey.get(hardwareId)?.server_key !== serverKey;
    sql.putServerKey.run(hardwareId, serverKey, 1, null, now);
    sql.approveServerKey.run(hardwareId);
    sql.removeWaitingKeys.run(hardwareId);
    const x = waited?.grantKey ?? null;
    // The new key does not vouch for grant keys that came with another one.
    if (isNew || x !== null) sql.replaceGrantKeys.run({ machine: hardwareId, x });
    else sql.proveGrantKeys.run(hardwareId);
    const stored = sql.listGrantKeys.all(hardwareId).map((row) => row.grant_key as string);
    const grantKeys = stored.length === 0 && x !== null ? [x] : stored;
    const facts = { hardware_id: hardwareId, fingerprint, grant_keys: grantKeys };
    record(store, { kind: 'server_key_approved', facts }, null, now);
    return { hardwareId, fingerprint, grantKeys, waited };
  });
}
