import type { Config } from '../config.ts';
import { type MovedStore, MoveError, moveStore as move } from '../services/backups/move-store.ts';
import { createIdentity } from '../services/identity/identity.ts';
import { hasData } from '../store/folder-access.ts';
import { describeHolder, lockFolder } from '../store/folder-lock.ts';
import { readMachineId } from '../store/machine-id.ts';
import { openPostgresSource } from '../store/postgres/move/postgres-source.ts';
import { openPostgresTarget } from '../store/postgres/move/postgres-target.ts';
import { openDataFolder } from '../store/sqlite/data-folder.ts';
import { openSqliteSource } from '../store/sqlite/move/sqlite-source.ts';
import { openSqliteTarget } from '../store/sqlite/move/sqlite-target.ts';
import {
  createFolderOrExplain,
  findMasterKey,
  isShared,
  readKeyVariables,
  type StoreOptions,
} from './compose-store.ts';

type MoveDirection = 'to-postgres' | 'to-sqlite';

type MoveOptions = Pick<StoreOptions, 'config' | 'env'>;

interface Moved extends MovedStore {
  /** The hardware id that licenses are bound to, if the server would have another one; else `null`. */
  readonly hardware_id_before: string | null;
}

/** Moves the data of a stopped server between its folder and the database. */
export async function moveStore(options: MoveOptions, direction: MoveDirection): Promise<Moved> {
  if (!isShared(options.config)) {
    throw new MoveError('Set the database with BERTH_DATABASE_URL, or as database.url in berth.yaml.');
  }
  return direction === 'to-postgres' ? moveToPostgres(options) : moveToSqlite(options);
}

async function moveToPostgres(options: MoveOptions): Promise<Moved> {
  const { config, env } = options;
  if (!hasData(config.data))
    throw new MoveError(`There is no data in ${config.data}. Select its folder with --data.`);
  const source = await openSqliteSource({ folder: config.data, masterKey: readKeyVariables(env) });
  if (source === null) throw inUse(config);
  try {
    const target = await openPostgresTarget(databaseOf(options));
    try {
      return { ...(await move(source, target)), hardware_id_before: null };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function moveToSqlite(options: MoveOptions): Promise<Moved> {
  const { config } = options;
  createFolderOrExplain(config.data);
  const lock = lockFolder(config.data);
  if (lock === null) throw inUse(config);
  let moved: MovedStore;
  try {
    moved = await moveToFolder(options);
  } finally {
    lock.release();
  }
  return { ...moved, hardware_id_before: await findOtherHardware(options) };
}

async function moveToFolder(options: MoveOptions): Promise<MovedStore> {
  const folder = options.config.data;
  const source = await openPostgresSource(databaseOf(options));
  try {
    const target = openSqliteTarget({ folder, masterKey: findMasterKey(options) });
    try {
      return await move(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function databaseOf(options: MoveOptions) {
  const { url, prepareStatements } = options.config.database;
  return { url, prepareStatements, masterKey: findMasterKey(options) };
}

function inUse({ data }: Config): MoveError {
  return new MoveError(`${data} is in use by ${describeHolder(data)}. Stop the server first.`);
}

/** In a folder, the hardware id also depends on the machine, unless it is set. */
export async function findOtherHardware({ config, env }: MoveOptions): Promise<string | null> {
  const masterKey = readKeyVariables(env);
  const store = await openDataFolder({
    folder: config.data,
    masterKey,
    onNotice: () => {},
    useThreads: false,
  });
  if (store === null) return null;
  try {
    const machine = { hardwareId: config.hardwareId || null, machineId: readMachineId(env), isShared: false };
    const { hardwareId: before } = await store.read({ kind: 'describe_store' });
    const now = await createIdentity(store, machine).readHardwareId();
    return before === now ? null : before;
  } finally {
    await store.close();
  }
}
