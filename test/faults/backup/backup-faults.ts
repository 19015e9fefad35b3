import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { CONTROL } from '../../../packages/server/src/config.ts';
import { saveBackup } from '../../support/backups.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../../support/server-process.ts';
import { findPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import { useDatabase } from '../../support/stores/test-stores.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';
import { POSTGRES, STRACE } from '../door/needs.ts';
import { runAlteredBackups } from './altered-backups.ts';
import { runBackupsUnderLoad } from './backups-under-load.ts';
import { runKilledDatabaseRestores } from './killed-database-restores.ts';
import { runKilledRestores } from './killed-restores.ts';

/**
 * A server whose data has moved on since its backup: Bob has a slot only in the newer data. On SQLite it was
 * killed, so that this is only in its log; a database is not restored while a server may still be using it.
 */
async function setUpRestore(folder: string, postgres: TestPostgres | null) {
  const [data, backup] = [join(folder, 'old'), join(folder, 'one.backup')];
  if (postgres !== null) useDatabase(data, await postgres.createDatabase('tables'));
  await seedLicenses(data, [testLicense(1, { timeoutMinutes: 600 })]);
  const server = await startServerProcess({ data });
  const api = new BerthApi(server.url);
  await api.register({ product: 'cad', user: 'ada' });
  await saveBackup(server.url, backup);
  await api.register({ product: 'cad', user: 'bob' });
  api.close();
  await server.stop(postgres === null ? 'SIGKILL' : 'SIGTERM');
  // A socket can be neither read nor copied.
  rmSync(join(data, CONTROL.socket), { force: true });
  return { folder, data, backup, users: { old: 'ada,bob', new: 'ada' } };
}

/** For each backup that is made, so many restores are killed and so many altered backups are tried. */
const KILLS = 0.5;
const PLACES = 10;

async function backUp(order: Order, postgres: TestPostgres | null): Promise<Findings> {
  const { count, seed, life, size } = order;
  const folder = temporaryFolder(life);
  const quietMs = size === 'small' ? 0 : 20_000;
  const load = await runBackupsUnderLoad({ folder, postgres, backups: count, clients: 16, quietMs });
  const made = await setUpRestore(folder, postgres);
  const points = Math.max(6, Math.round(count * KILLS));
  const killed = await (postgres === null
    ? runKilledRestores({ ...made, points })
    : runKilledDatabaseRestores({ ...made, postgres, points }));
  // What a file is refused for does not depend on where it would go.
  const places = postgres === null ? count * PLACES : 0;
  const altered = places === 0 ? [] : await runAlteredBackups({ ...made, places, seed });
  const isSlowed = postgres === null && load.busy.slow > 0 && load.quiet.slow === 0 && quietMs > 0;
  const facts = {
    'requests meanwhile': load.requests,
    'restores killed': `${killed.points}: ${killed.old} times the old data, ${killed.new} times the new`,
    'altered backups': places,
  };
  const slowed = isSlowed ? [`${load.busy.slow} requests were slow only during backups`] : [];
  return { count, facts, violations: [...load.violations, ...slowed, ...altered, ...killed.violations] };
}

const PROMISE =
  'A backup made under load holds everything acknowledged; a killed restore leaves the old data or the new';

export const backup: Fault = {
  name: 'backup',
  promises: [2, 3, 5],
  promise: `${PROMISE}; an altered backup is refused.`,
  unit: 'backups',
  sizes: { small: 1, full: 100 },
  needs: [STRACE],
  run: (order) => backUp(order, null),
};

export const backupPostgres: Fault = {
  name: 'backup-postgres',
  promises: [2, 3, 5],
  promise: `${PROMISE}, on PostgreSQL.`,
  unit: 'backups',
  sizes: { small: 1, full: 100 },
  needs: [POSTGRES],
  run: async (order) => backUp(order, await findPostgres(order.life)),
};
