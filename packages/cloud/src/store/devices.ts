import type { Device } from '../core/license.ts';
import { type Refusal, refuse } from '../core/refusal.ts';
import { type CloudStore, record, transact } from './cloud-store.ts';
import { toDevice } from './rows.ts';

export interface ListedDevice extends Device {
  readonly licenseKey: string;
  readonly isBlocked: boolean;
}

/** Of one license, or of all. */
export function listDevices({ sql }: CloudStore, licenseId: number | null): readonly ListedDevice[] {
  return sql.listDevices.all({ license: licenseId }).map((row) => ({
    ...toDevice(row),
    licenseKey: row.license_key as string,
    isBlocked: row.blocked_at !== null,
  }));
}

interface BlockedDevice {
  readonly hardwareId: string;
  readonly blockedAt: number;
}

export function listBlocked({ sql }: CloudStore): readonly BlockedDevice[] {
  return sql.listBlocked.all().map((row) => ({
    hardwareId: row.hardware_id as string,
    blockedAt: row.blocked_at as number,
  }));
}

const MAX_HARDWARE_ID_LENGTH = 256;

/** A machine can be blocked before it was ever seen. It keeps its activations, but cannot use them. */
export function blockDevice(store: CloudStore, hardwareId: string, now: number): BlockedDevice | Refusal {
  if (hardwareId.trim() === '' || hardwareId.length > MAX_HARDWARE_ID_LENGTH) {
    return refuse('validation_error', `A hardware id has 1 to ${MAX_HARDWARE_ID_LENGTH} characters.`);
  }
  return transact(store, () => {
    if (store.sql.findBlocked.get(hardwareId) !== undefined) {
      return refuse('blacklisted', `The machine "${hardwareId}" is already barred.`);
    }
    store.sql.block.run(hardwareId, now);
    store.sql.unproveMachine.run(hardwareId);
    store.sql.endApproval.run(hardwareId);
    record(store, { kind: 'device_blocked', facts: { hardware_id: hardwareId } }, null, now);
    return { hardwareId, blockedAt: now };
  });
}

export function unblockDevice(
  store: CloudStore,
  hardwareId: string,
  now: number,
): { hardwareId: string } | Refusal {
  return transact(store, () => {
    if (store.sql.unblock.run(hardwareId).changes === 0) {
      return refuse('device_not_found', `The machine "${hardwareId}" is not barred.`);
    }
    record(store, { kind: 'device_unblocked', facts: { hardware_id: hardwareId } }, null, now);
    return { hardwareId };
  });
}
