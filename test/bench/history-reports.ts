import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { licenseId } from '@berth/server/core/nouns/license';
import { createHistory, type History } from '../../packages/server/src/services/history/history.ts';
import { runTaskHere } from '../../packages/server/src/services/tasks/task.ts';
import { openDataFolder } from '../../packages/server/src/store/sqlite/data-folder.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { startPostgres } from '../support/stores/postgres.ts';
import { fillDatabase, fillFolder } from './fill-history.ts';
import { openBenchDatabase } from './seed-store.ts';

const ALL = { licenseId: null };
const ONE = { licenseId: licenseId(9001) };
const NOBODY_LEAVES = new AbortController().signal;

/** Every report, over the whole time and over a short one. */
const REPORTS: Readonly<Record<string, (history: History) => Promise<unknown>>> = {
  'slots of all licenses, a year': (history) => history.listSlots({ ...ALL, since: '365d' }),
  'slots of all licenses, a day': (history) => history.listSlots({ ...ALL, since: '24h' }),
  'slots of one license, a year': (history) => history.listSlots({ ...ONE, since: '365d' }),
  'slots of one license, a week': (history) => history.listSlots({ ...ONE, since: '7d' }),
  'denials, a year': (history) => history.listDenials({ ...ALL, since: '365d' }),
  'denials, today': (history) => history.listDenials({ ...ALL, since: 'yesterday' }),
  'denials of one user, a year': (history) =>
    history.listDenials({ ...ALL, since: '365d', user: 'user-0000042' }),
  'users, a year': (history) => history.listUsers({ ...ALL, since: '365d' }),
  'users, two days': (history) => history.listUsers({ ...ALL, since: 'yesterday' }),
  'users of one license, a month': (history) => history.listUsers({ ...ONE, since: '30d' }),
  'one user, a year': (history) => history.listUsers({ ...ALL, since: '365d', user: 'user-0000042' }),
  'waits, a year': (history) => history.listWaits({ ...ALL, since: '365d' }),
  'consumption, a year': (history) => history.listConsumption({ ...ALL, since: '365d' }),
  'what if, a year': (history) => history.askWhatIf({ ...ONE, since: '365d' }, NOBODY_LEAVES),
  'what if, a month': (history) => history.askWhatIf({ ...ONE, since: '30d' }, NOBODY_LEAVES),
};

const ROUNDS = 5;

async function measure(name: string, store: Store): Promise<void> {
  const history = createHistory(store, { keepDays: 730 }, runTaskHere);
  for (const [title, report] of Object.entries(REPORTS)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedMs = performance.now();
      await report(history);
      times.push(performance.now() - startedMs);
    }
    const sorted = times.toSorted((a, b) => a - b).map((ms) => ms.toFixed(0));
    process.stdout.write(`${name.padEnd(12)}${title.padEnd(34)}${sorted.join('  ')} ms\n`);
  }
}

async function measureSqlite(size: Parameters<typeof fillFolder>[1]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-history-'));
  try {
    process.stdout.write(`SQLite: ${await fillFolder(folder, size)} rows\n`);
    const masterKey = { value: null, file: null };
    const store = await openDataFolder({ folder, masterKey, onNotice: () => {}, useThreads: true });
    if (store === null) throw new Error(`${folder} is in use.`);
    await measure('SQLite', store);
    await store.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measurePostgres(size: Parameters<typeof fillFolder>[1]): Promise<void> {
  const postgres = await startPostgres({ settings: { shared_buffers: '128MB' } });
  try {
    const url = await postgres.createDatabase();
    const masterKey = randomBytes(32).toString('hex');
    process.stdout.write(`PostgreSQL: ${await fillDatabase(url, masterKey, size)} rows\n`);
    const store = await openBenchDatabase(url, masterKey, { isServing: true });
    await measure('PostgreSQL', store);
    await store.close();
  } finally {
    await postgres.end();
  }
}

const { values } = parseArgs({
  options: {
    licenses: { type: 'string', default: '20' },
    days: { type: 'string', default: '365' },
    registrations: { type: 'string', default: '50000' },
    store: { type: 'string', default: 'both' },
  },
});
const size = {
  licenses: Number(values.licenses),
  days: Number(values.days),
  registrations: Number(values.registrations),
};
if (values.store !== 'postgresql') await measureSqlite(size);
if (values.store !== 'sqlite') await measurePostgres(size);
