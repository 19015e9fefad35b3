import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { saveBackup } from '../../support/backups.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { makeUpSeed } from '../../support/random.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';
import { runAlteredBackups } from './altered-backups.ts';
import { runBackupsUnderLoad } from './backups-under-load.ts';
import { runKilledRestores } from './killed-restores.ts';

/** A stopped server whose data has moved on since its backup: Bob has a slot only in the newer data. */
export async function setUpRestore(folder: string) {
  const [data, backup] = [join(folder, 'old'), join(folder, 'one.backup')];
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

async function main(folder: string): Promise<number> {
  const { values } = parseArgs({
    options: {
      backups: { type: 'string', default: '100' },
      kills: { type: 'string', default: '50' },
      places: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(makeUpSeed()) },
    },
  });
  const seed = Number(values.seed);
  print(`seed ${seed}`);
  const under = { folder, backups: Number(values.backups), clients: 16, quietMs: 20_000 };
  const { violations, ...load } = await runBackupsUnderLoad(under);
  print(JSON.stringify(load, null, 1));
  const isSlowed = load.busy.slow > 0 && load.quiet.slow === 0;
  const made = await setUpRestore(folder);
  const altered = await runAlteredBackups({ ...made, places: Number(values.places), seed });
  print(`${values.places} altered backups: ${altered.length === 0 ? 'all refused' : altered.join('\n')}`);
  const killed = await runKilledRestores({ ...made, points: Number(values.kills) });
  print(`killed at ${killed.points} points: ${killed.old} times the old data, ${killed.new} times the new`);
  const slowed = isSlowed ? [`${load.busy.slow} requests were slow only during backups`] : [];
  const all = [...violations, ...slowed, ...altered, ...killed.violations];
  for (const violation of all) print(`VIOLATION ${violation}`);
  return all.length === 0 ? 0 : 1;
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-backup-'));
  try {
    process.exitCode = await main(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
