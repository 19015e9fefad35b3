import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOWNTIME_MS } from '../../../src/core/clock/clock.ts';
import type { MasterKeySource } from '../../../src/secrets/master-key.ts';
import {
  type DatabaseOptions,
  openDatabase,
  type Timeouts,
} from '../../../src/store/postgres/open-database.ts';
import type { PoolOptions } from '../../../src/store/postgres/wire/pool.ts';
import type { Store } from '../../../src/store/store.ts';
import { askBeside } from './ask-beside.ts';
import type { OpenOptions } from './exam-store.ts';
import { expectSoundRows } from './rows.ts';

/** One key for all: a store is opened again with the key that it was made with. */
const MASTER_KEY = 'ab'.repeat(32);

/** A busy machine may stall for longer than a server waits for its database. */
export const PATIENT: Timeouts = { connectMs: 120_000, acquireMs: 120_000, askMs: 120_000 };

/** Opens a store as a server does, but waits patiently for the database. */
export function openPatiently(options: Partial<DatabaseOptions> & { readonly url: string }): Promise<Store> {
  return openDatabase({
    masterKey: { value: MASTER_KEY, file: '' },
    maxConnections: 4,
    prepareStatements: true,
    version: 'test',
    onNotice: () => {},
    onNews: () => {},
    isServing: true,
    timeouts: PATIENT,
    ...options,
  });
}

/**
 * Opens the database that belongs to a folder, or creates one. Time follows the given clock. A running server
 * reports every second that it is alive; here it does so before each action that follows a pause.
 */
export async function openExamined(
  { folder, clock, onNotice, ignoresCase }: OpenOptions,
  createDatabase: () => Promise<string>,
  masterKey: MasterKeySource = { value: MASTER_KEY, file: join(folder, 'master.key') },
  open?: PoolOptions['open'],
): Promise<Store> {
  const file = urlFile(folder);
  if (!existsSync(file)) writeFileSync(file, await createDatabase());
  const url = readFileSync(file, 'utf8');
  const options = { url, masterKey, maxConnections: 5, onNotice, ignoresCase, clock, open };
  const store = await openPatiently(options);
  let aliveAt: number = clock.readWall();
  let living: Promise<unknown> = Promise.resolve();
  /** Callers that arrive together wait together, in order. */
  function live(): Promise<unknown> {
    if (clock.readWall() === aliveAt || isPaused(clock)) return living;
    aliveAt = clock.readWall();
    living = askBeside(url, `UPDATE server SET alive_at = greatest(alive_at, ${aliveAt})`);
    return living;
  }
  return {
    execute: async (command) => {
      await live();
      return store.execute(command);
    },
    read: async (query) => {
      await live();
      return store.read(query);
    },
    keepClock: async () => {
      await live();
      return store.keepClock();
    },
    isHealthy: () => store.isHealthy(),
    isLeader: () => store.isLeader(),
    tally: store.tally,
    listWaiting: (products) => store.listWaiting(products),
    turns: store.turns,
    listPools: () => store.listPools(),
    close: () => store.close(),
  };
}

/** Whether no server was there to report anything. */
function isPaused({ restMs }: OpenOptions['clock']): boolean {
  return restMs === DOWNTIME_MS;
}

/** Checks the rows in the database that belongs to a folder. */
export async function expectSoundDatabase(folder: string): Promise<void> {
  const url = readFileSync(urlFile(folder), 'utf8');
  await expectSoundRows(async (sql) => [...(await askBeside(url, sql))]);
}

/** Where a folder has the URL of its database. */
function urlFile(folder: string): string {
  return join(folder, 'database');
}
