import { createHash } from 'node:crypto';
import type { Refused } from '../../core/outcome.ts';
import type { Store } from '../../store/store.ts';
import { RequestError } from '../request-error.ts';

/** What the machine contributes to the server's identity. */
export interface Machine {
  /** What the administrator says the hardware id is; `null`: nothing. */
  readonly hardwareId: string | null;
  /** `null`: a container, or a machine that has none. */
  readonly machineId: string | null;
  /** The data is in a database that servers on several machines share. */
  readonly isShared: boolean;
}

/**
 * Which server this is, to the vendor. What the administrator says comes first. Otherwise it is the data on
 * this machine. Where several machines share the data they are one server to the vendor, so there it is the
 * data alone; data that was moved to such a database keeps the hardware id it had, because its licenses are
 * bound to it.
 */
export interface Identity {
  /** The same as long as the data stays on this machine. */
  readHardwareId(): Promise<string>;
  /** Whether the administrator chose it, and it is not what the server would make here by itself. */
  isChosen(): Promise<boolean>;
  /**
   * Tells the store where it is, and returns whether that is another machine than the last time. Refused
   * where a license forbids the id that the administrator chose.
   */
  bind(): Promise<boolean | Refused>;
  /**
   * For whoever opens the data of a stopped server: throws where that server would be another one. A command
   * does not decide that the data has moved; it may just lack the server's settings.
   */
  requireHome(): Promise<void>;
}

export function createIdentity(store: Store, machine: Machine): Identity {
  /** What the id is where the administrator says nothing. Data in a database keeps the id that it had. */
  const makeHardwareId = async () => {
    const { identity, hardwareId: last } = await store.read({ kind: 'describe_store' });
    if (!machine.isShared) return hashIdentity(identity, machine.machineId);
    return last ?? hashIdentity(identity, null);
  };
  const readHardwareId = async () => machine.hardwareId ?? makeHardwareId();
  const isChosen = async () => machine.hardwareId !== null && machine.hardwareId !== (await makeHardwareId());
  return {
    readHardwareId,
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
    `The server had the hardware id ${last} when it last ran; here it would be ${hardwareId}. If this is ` +
      'another machine, start the server first. If it is the same, give the command the settings of the ' +
      'server.',
  );
}

function hashIdentity(identity: string, machineId: string | null): string {
  const hash = createHash('sha256').update(identity);
  return (machineId === null ? hash : hash.update('\0').update(machineId)).digest('hex');
}
