import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { type FilePurpose, hasRoomToWait, refuseWaiting, WAITING } from '../../core/judge-request.ts';
import { type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import type { Row } from '../rows.ts';

/** A refusal that leaves something behind, while `transact` would take everything back with it. */
export class Held {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    this.refusal = refusal;
  }
}

/** The refusal that was held, once the transaction is over. */
export function release<T>(result: T | Held): T | Refusal {
  return result instanceof Held ? result.refusal : result;
}

interface HeldFile {
  readonly asks: FilePurpose;
  readonly hardwareId: string;
  readonly serverKey: string;
  readonly from: string | null;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Keeps the key for the vendor to look at, and nothing else of the file. Inside a transaction only. */
export function holdForVendor(store: CloudStore, file: HeldFile, now: number): Held {
  const { sql } = store;
  const { hardwareId, serverKey, asks, from } = file;
  const fingerprint = publicKeyFingerprint(serverKey);
  sql.removeWaitingKeysBefore.run(now - WAITING.days * DAY_MS);
  const isThere = sql.findWaitingKey.get(hardwareId, serverKey) !== undefined;
  const isKept = isThere || makeRoom(store, hardwareId, from);
  if (isKept && !isThere) {
    sql.addWaitingKey.run(hardwareId, serverKey, asks, from, now);
    const facts = { hardware_id: hardwareId, fingerprint, asks };
    record(store, { kind: 'server_key_waits', facts }, null, now);
  }
  return new Held(refuseWaiting(hardwareId, fingerprint, isKept));
}

/** Whether there is room for one more; for the vendor it is made. */
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
  readonly asks: FilePurpose;
  /** The licenses that its machine has. */
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
    asks: row.asks as FilePurpose,
    licenseKeys: row.license_keys as string | null,
    from: row.came_from as string | null,
    cameAt: row.came_at as number,
  };
}

/** Nobody can make a key whose fingerprint begins with sixteen chosen digits (64 bits). */
const FINGERPRINT = /^[0-9a-f]{16,64}$/;

export interface ApprovedKey {
  readonly hardwareId: string;
  readonly fingerprint: string;
  /** As it waited; `null`: the machine was known by it already, and no file of it waited. */
  readonly waited: WaitingKey | null;
}

/** From here on the machine is known by this key alone; others that wait for it are dropped. */
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
    sql.putServerKey.run(hardwareId, serverKey, 1, now);
    sql.removeWaitingKeys.run(hardwareId);
    const facts = { hardware_id: hardwareId, fingerprint };
    record(store, { kind: 'server_key_approved', facts }, null, now);
    const waited = waiting.find((one) => one.fingerprint === fingerprint) ?? null;
    return { hardwareId, fingerprint, waited };
  });
}
