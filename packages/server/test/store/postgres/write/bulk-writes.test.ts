import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { type Instant, instant } from '../../../../src/core/nouns/instant.ts';
import { columnsOf } from '../../../../src/store/engine/tables.ts';
import type { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import { openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { migrate } from '../../../../src/store/postgres/wire/migrate.ts';
import {
  readGroups,
  readLicenses,
  readSoonest,
  type Sql,
  writeChanges,
} from '../../../../src/store/postgres/write/bulk-writes.ts';
import { HELD_TABLES, type HeldRow, type HeldTable } from '../../../../src/store/postgres/write/row-table.ts';
import { beginLimited } from '../../../../src/store/postgres/write/transaction.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

async function openMigrated(t: TestContext): Promise<Connection> {
  const connection = await openConnection({
    target: parseDatabaseUrl(await (await shared()).createDatabase()),
    prepareStatements: true,
    answerTimeoutMs: 30_000,
    connectTimeoutMs: 10_000,
  });
  t.after(() => connection.close());
  await migrate(connection);
  return connection;
}

/** How the database would plan it, in a transaction like those of the writer. */
async function explain(connection: Connection, { text, values }: Sql): Promise<string> {
  await beginLimited(connection);
  const rows = await connection.query(`EXPLAIN ${text}`, values);
  await connection.query('ROLLBACK');
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/** A row of the table; its texts are numbers, too. */
function sampleRow(table: HeldTable): HeldRow {
  return Object.fromEntries(columnsOf(table).map((column) => [column, 1])) as unknown as HeldRow;
}

/** All reads use an index, even if the table is too small to need one. */
function assertByIndex(plan: string): void {
  assert.match(plan, /Index (?:Only )?Scan/);
  assert.doesNotMatch(plan, /Seq Scan|Bitmap|Hash Join|Merge Join/);
}

describe("a batch's queries while its tables are empty", { skip }, () => {
  test('are planned as if they were large', async (t) => {
    const connection = await openMigrated(t);
    for (const table of HELD_TABLES) {
      const row = sampleRow(table);
      const [gone] = writeChanges(table, new Map([['', { row: null, key: row, isRenewal: false }]]));
      for (const sql of [readGroups(table, [row]), readLicenses(table, [1]), gone as Sql]) {
        assertByIndex(await explain(connection, sql));
      }
    }
  });

  test('read the soonest ends from the index, in order', async (t) => {
    await assertSoonestByEnd(await openMigrated(t));
  });
});

describe("a batch's queries while the database knows little of its tables", { skip }, () => {
  test('are planned as if it knew them', async (t) => {
    const connection = await openMigrated(t);
    await connection.query(`INSERT INTO registration (license_id, "user", registered_at, ends_at)
      SELECT n % 20, 'user-' || n, 1, 2 FROM generate_series(1, 2000) AS n`);
    // Each renewal makes the index by end larger until it is vacuumed.
    for (let round = 0; round < 10; round++)
      await connection.query('UPDATE registration SET ends_at = ends_at + 1');
    await assertSoonestByEnd(connection);
    const row = sampleRow('registration');
    const [renewal] = writeChanges('registration', new Map([['', { row, key: row, isRenewal: true }]]));
    for (const sql of [readGroups('registration', [row]), renewal as Sql])
      assert.match(await explain(connection, sql), /Index Scan using registration_pkey/);
  });
});

describe('the slots that end soon', { skip }, () => {
  test('are read without what renewals have left of later ends', async (t) => {
    const connection = await openMigrated(t);
    await connection.query(`INSERT INTO registration (license_id, "user", registered_at, ends_at)
      SELECT 1, 'user-' || n, 1, 1000 FROM generate_series(1, 1000) AS n`);
    for (let round = 0; round < 10; round++)
      await connection.query('UPDATE registration SET ends_at = ends_at + 1000');
    const read = (endsBy?: Instant) => countPages(connection, readSoonest('registration', [1], 4, endsBy));
    const [soon, all] = [await read(instant(100)), await read()];
    assert.ok(soon <= 4 && soon < all, `${soon} pages, and ${all} without a bound`);
  });
});

/** The pages that a statement looks at. */
async function countPages(connection: Connection, { text, values }: Sql): Promise<number> {
  await beginLimited(connection);
  const rows = await connection.query(`EXPLAIN (ANALYZE, BUFFERS) ${text}`, values);
  await connection.query('ROLLBACK');
  const [buffers] = rows.map((row) => String(row['QUERY PLAN'])).filter((line) => line.includes('Buffers:'));
  return [...(buffers ?? '').matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0);
}

async function assertSoonestByEnd(connection: Connection): Promise<void> {
  for (const table of ['registration', 'feature_slot'] as const) {
    for (const licenses of [[1], [1, 2]]) {
      const plan = await explain(connection, readSoonest(table, licenses, 36));
      assert.match(plan, new RegExp(`Index Scan using ${table}_by_end`));
      assert.doesNotMatch(plan, /Sort/);
    }
  }
}
