import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { saveBackup } from '../../support/backups.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { makeUpSeed } from '../../support/random.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { startPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import { useDatabase } from '../../support/stores/test-stores.ts';
import { testLicense } from '../../support/test-license.ts';
import { runAlteredBackups } from './altered-backups.ts';
import { runBackupsUnderLoad } from './backups-under-load.ts';
import { runKilledDatabaseRestores } from './killed-database-restores.ts';
import { runKilledRestores } from './killed-restores.ts';

/** A stopped server whose data has moved on since its backup: Bob has a slot only in the newer data. */
export async function setUpRestore(folder: string, postgres: TestPostgres | null) {
  const [data, backup] = [join(folder, 'old'), join(folder, 'one.backup')];
  if (postgres !== null) useDatabase(data, await postgres.createDatabase('tables'));
  await seedLicenses(data, [testLicense(1, { timeoutMinutes: 600 })]);
  const server = await startServerHere({ data });
  const api = new BerthApi(server.url);
  await api.register({ product: 'cad', user: 'ada' });
  await saveBackup(server.url, backup);
  await api.register({ product: 'cad', user: 'bob' });
  api.close();
  await server.stop();
  return { folder, data, backup, users: { old: 'ada,bob', new: 'ada' } };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

interface Sizes {
  readonly backups: number;
  readonly kills: number;
  readonly places: number;
  readonly seed: number;
}

function readSizes(): Sizes & { readonly isPostgres: boolean } {
  const { values } = parseArgs({
    options: {
      backups: { type: 'string', default: '100' },
      kills: { type: 'string', default: '50' },
      places: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(makeUpSeed()) },
      postgres: { type: 'boolean', default: false },
    },
  });
  const { backups, kills, places, seed, postgres } = values;
  return {
    backups: Number(backups),
    kills: Number(kills),
    places: Number(places),
    seed: Number(seed),
    isPostgres: postgres,
  };
}

async function run(folder: string, postgres: TestPostgres | null, sizes: Sizes): Promise<readonly string[]> {
  const { backups, kills, places, seed } = sizes;
  const under = { folder, postgres, backups, clients: 16, quietMs: 20_000 };
  const { violations, ...load } = await runBackupsUnderLoad(under);
  print(JSON.stringify(load, null, 1));
  const made = await setUpRestore(folder, postgres);
  const killed = await (postgres === null
    ? runKilledRestores({ ...made, points: kills })
    : runKilledDatabaseRestores({ ...made, postgres, points: kills }));
  print(`killed at ${killed.points} points: ${killed.old} times the old data, ${killed.new} times the new`);
  // What a file is refused for does not depend on where it would go.
  if (postgres !== null) return [...violations, ...killed.violations];
  const altered = await runAlteredBackups({ ...made, places, seed });
  print(`${places} altered backups: ${altered.length === 0 ? 'all refused' : altered.join('\n')}`);
  const isSlowed = load.busy.slow > 0 && load.quiet.slow === 0;
  const slowed = isSlowed ? [`${load.busy.slow} requests were slow only during backups`] : [];
  return [...violations, ...slowed, ...altered, ...killed.violations];
}

async function main(folder: string): Promise<number> {
  const { isPostgres, ...sizes } = readSizes();
  print(`seed ${sizes.seed}`);
  const postgres = isPostgres ? await startPostgres() : null;
  try {
    const violations = await run(folder, postgres, sizes);
    for (const violation of violations) print(`VIOLATION ${violation}`);
    return violations.length === 0 ? 0 : 1;
  } finally {
    await postgres?.end();
  }
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-backup-'));
  try {
    process.exitCode = await main(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
