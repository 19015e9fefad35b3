import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../../support/stores/postgres.ts';
import { runAlteredBackups } from './altered-backups.ts';
import { setUpRestore } from './backup-faults.ts';
import { runBackupsUnderLoad } from './backups-under-load.ts';
import { runKilledDatabaseRestores } from './killed-database-restores.ts';
import { hasStrace, runKilledRestores } from './killed-restores.ts';

/** `npm run faults -- backup` makes 100 backups, kills 50 restores, and alters a backup in 1,000 places. */
describe('backups', () => {
  test('made under load contain what was acknowledged, and can be restored', async (t) => {
    const folder = temporaryFolder(t);
    const report = await runBackupsUnderLoad({ folder, postgres: null, backups: 2, clients: 4, quietMs: 0 });
    assert.deepEqual(report.violations, []);
    assert.ok(report.requests > 0);
  });

  test('that were altered are refused, and a killed restore leaves old data or new', async (t) => {
    const made = await setUpRestore(temporaryFolder(t), null);
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    assert.deepEqual(await runAlteredBackups({ ...made, places: 15, seed }), []);
    if (!hasStrace) return t.skip('optional: needs strace');
    const { violations, ...found } = await runKilledRestores({ ...made, points: 6 });
    assert.deepEqual(violations, []);
    assert.ok(found.old > 0 && found.new > 0, 'kills before and after the rename that counts');
  });
});

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';

/** `npm run faults -- backup-postgres` makes 100 backups and kills 50 restores. */
describe('backups, on PostgreSQL', { skip }, () => {
  const getPostgres = sharedPostgres();

  test('made under load contain what was acknowledged, and can be restored', async (t) => {
    const [folder, postgres] = [temporaryFolder(t), await getPostgres()];
    const report = await runBackupsUnderLoad({ folder, postgres, backups: 2, clients: 4, quietMs: 0 });
    assert.deepEqual(report.violations, []);
    assert.ok(report.requests > 0);
  });

  test('that are being restored when the process is killed leave old data or new', async (t) => {
    const postgres = await getPostgres();
    const made = await setUpRestore(temporaryFolder(t), postgres);
    const { violations, ...found } = await runKilledDatabaseRestores({ ...made, postgres, points: 5 });
    assert.deepEqual(violations, []);
    assert.ok(found.old > 0 && found.new > 0, 'kills before and after the commit');
  });
});
