import { createHash } from 'node:crypto';
import { RequestError } from '@berth/protocol/request-error';
import type { Refused } from '../../core/outcome.ts';
import type { Store } from '../../store/store.ts';

/** What the machine contributes to the server's identity. */
export interface Machine {
  /** The hardware id from the settings; `null` if not set. */
  readonly hardwareId: string | null;
  /** `null` in a container, or on a machine without one. */
  readonly machineId: string | null;
  /** Whether the data is in a database that servers on several machines share. */
  readonly isShared: boolean;
}

/**
 * The server's identity towards the vendor. The setting comes first. Otherwise it depends on the data and the
 * machine. Machines that share a database are one server to the vendor, so there it depends on the data
 * alone; data that was moved to such a database keeps its hardware id, because its licenses are bound to it.
 */
export interface Identity {
  /** Stays the same while the data stays on this machine. */
  readHardwareId(): Promise<string>;
  /** The public id of the store: it names the data, wherever it is. It does not reveal the identity. */
  readStoreId(): Promise<string>;
  /** Whether the administrator set it, and it differs from the default. */
  isChosen(): Promise<boolean>;
  /**
   * Records this machine in the store, and returns whether it has changed. Refused if a license forbids the
   * hardware id from the settings.
   */
  bind(): Promise<boolean | Refused>;
  /**
   * For commands that open the data of a stopped server: throws if the hardware id would change. A command
   * does not decide that the data has moved; it may just lack the server's settings.
   */
  requireHome(): Promise<void>;
}

export function createIdentity(store: Store, machine: Machine): Identity {
  /** The default id. Data in a database keeps the id it had. */
  const makeHardwareId = async () => {
    const { identity, hardwareId: last } = await store.read({ kind: 'describe_store' });
    if (!machine.isShared) return hashIdentity(identity, machine.machineId);
    return last ?? hashIdentity(identity, null);
  };
  const readHardwareId = async () => machine.hardwareId ?? makeHardwareId();
  let storeId: Promise<string> | null = null;
  const isChosen = async () => machine.hardwareId !== null && machine.hardwareId !== (await makeHardwareId());
  return {
    readHardwareId,
    readStoreId() {
      storeId ??= store.read({ kind: 'describe_store' }).then(({ identity }) => hashStoreId(identity));
      storeId.catch(() => {
        storeId = null;
      });
      return storeId;
    },
    isChosen,
    async bind() {
      const hardwareId = await readHardwareId();
      const command = { hardwareId, isChosen: await isChosen() };
      const outcome = await store.execute({ kind: 'bind_hardware', ...command });
      if (outcome.kind === 'refused') return outcome;
      return outcome.kind === 'done' && outcome.count > 0;
    },
    async requireHome() {
      const { hardwareId: last } = await store.read({ kind: 'describe_store' });
      const hardwareId = await readHardwareId();
      if (last !== null && last !== hardwareId) throw notAtHome(last, hardwareId);
    },
  };
}

function notAtHome(last: string, hardwareId: string): RequestError {
  return new RequestError(
    'server_identity_changed',
    `The server last ran with hardware id ${last}; here it would be ${hardwareId}. If this is another ` +
      'machine, start the server first. If it is the same, run the command with the settings of the ' +
      'server.',
  );
}

function hashStoreId(identity: string): string {
  return createHash('sha256').update('berth store\n').update(identity).digest('base64url');
}

function hashIdentity(identity: string, machineId: string | null): string {
  const hash = createHash('sha256').update(identity);
  return (machineId === null ? hash : hash.update('\0').update(machineId)).digest('hex');
}
