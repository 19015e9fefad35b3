import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import {
  expectedTable,
  type FoundTable,
  listSqliteNames,
} from '../../../../../../test/support/stores/schema.ts';
import { SCHEMA_VERSION } from '../../../../src/store/engine/migrations.ts';
import { TABLE_NAMES } from '../../../../src/store/engine/tables.ts';
import type { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import { openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { migrate } from '../../../../src/store/postgres/wire/migrate.ts';
import { openWritable } from '../../../../src/store/sqlite/wire/database.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

async function open(t: TestContext, url: string): Promise<Connection> {
  const options = { prepareStatements: true, answerTimeoutMs: 30_000, connectTimeoutMs: 10_000 };
  const connection = await openConnection({ ...options, target: parseDatabaseUrl(url) });
  t.after(() => connection.close());
  return connection;
}

async function openFresh(t: TestContext): Promise<Connection> {
  return open(t, await (await shared()).createDatabase());
}

async function listTables(connection: Connection): Promise<unknown[]> {
  const text = 'SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename';
  return (await connection.query(text)).map((row) => row.tablename);
}

describe('migrating', { skip }, () => {
  test('is done once when many servers start together on an empty database', async (t) => {
    const url = await (await shared()).createDatabase();
    const connections = await Promise.all(Array.from({ length: 10 }, () => open(t, url)));
    await Promise.all(connections.map(migrate));
    const [connection] = connections as [Connection];
    const versions = await connection.query('SELECT version FROM berth_schema ORDER BY version');
    assert.deepEqual(
      versions.map(({ version }) => version),
      Array.from({ length: SCHEMA_VERSION }, (_, index) => index + 1),
    );
    const servers = await connection.query('SELECT identity FROM server');
    assert.equal(servers.length, 1);
    assert.match(servers[0]?.identity as string, /^[0-9a-f]{32}$/);
    await migrate(connection);
    assert.deepEqual((await connection.query('SELECT identity FROM server'))[0], servers[0]);
  });

  test('sees what was done while it waited, whatever the database does by default', async (t) => {
    const url = await (await shared()).createDatabase();
    const [first, second] = [await open(t, url), await open(t, url)];
    const name = parseDatabaseUrl(url).database;
    await first.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`);
    const strict = [await open(t, url), await open(t, url)];
    await Promise.all([...strict, second].map(migrate));
    assert.equal((await first.query('SELECT 1 FROM berth_schema')).length, SCHEMA_VERSION);
  });

  test('refuses what a newer Berth wrote', async (t) => {
    const connection = await openFresh(t);
    await migrate(connection);
    await connection.query('INSERT INTO berth_schema (version) VALUES ($1)', [SCHEMA_VERSION + 1]);
    const known = `schema ${SCHEMA_VERSION + 1}; this one knows ${SCHEMA_VERSION}`;
    await assert.rejects(migrate(connection), {
      code: 'store_unavailable',
      message: new RegExp(`written by a newer Berth \\(${known}\\)`),
    });
  });

  test('leaves a database with tables of others alone', async (t) => {
    const connection = await openFresh(t);
    await connection.query('CREATE TABLE invoice (n INT)');
    await assert.rejects(migrate(connection), /'public' of the database has tables that were not created/);
    assert.deepEqual(await listTables(connection), ['invoice']);
    assert.equal(connection.isDead, false);
  });

  test('works in the schema that comes first, beside the tables of others', async (t) => {
    const url = await (await shared()).createDatabase();
    const other = await open(t, url);
    await other.query('CREATE TABLE invoice (n INT); CREATE SCHEMA berth');
    const connection = await open(t, `${url}?options=-c%20search_path%3Dberth,public`);
    await migrate(connection);
    assert.ok((await listTables(connection)).includes('registration'));
    assert.deepEqual(await listTables(other), ['invoice']);
  });

  test('refuses to start empty in front of its own data', async (t) => {
    const url = await (await shared()).createDatabase();
    await migrate(await open(t, url));
    const connection = await open(t, `${url}?options=-c%20search_path%3Dberth,public`);
    await migrate(connection);
    await connection.query('CREATE SCHEMA berth');
    await assert.rejects(migrate(connection), /begins with the schema 'berth', but .* is in 'public'/);
  });

  test('reports when there is no schema to work in', async (t) => {
    const url = await (await shared()).createDatabase();
    const connection = await open(t, `${url}?options=-c%20search_path%3Dnowhere`);
    await assert.rejects(migrate(connection), /There is no schema to work in/);
  });

  test('leaves nothing half done when it fails', async (t) => {
    const connection = await openFresh(t);
    await connection.query('CREATE TYPE notice AS ENUM ()');
    await assert.rejects(migrate(connection), /reported an error/);
    assert.deepEqual(await listTables(connection), []);
    await connection.query('DROP TYPE notice');
    await migrate(connection);
    assert.ok((await listTables(connection)).includes('notice'));
  });
});

/** What only servers that share a database need. */
const EXTRA_TABLES = ['audit_order', 'berth_schema', 'leader', 'place_count', 'server_instance', 'waiting'];
const EXTRA_INDEXES = ['CREATE INDEX audit_link_without_seq ON audit_link (id) WHERE seq IS NULL'];

/**
 * In SQLite every index ends with the columns of the key, which are not listed; and ended slots are found by
 * when they are due.
 */
const DIFFERENT: Record<string, string> = {
  'registration_by_due ON registration (license_id, due_at)':
    'registration_by_end ON registration (license_id, ends_at, "user")',
  'feature_slot_by_end ON feature_slot (license_id, ends_at)':
    'feature_slot_by_end ON feature_slot (license_id, ends_at, "user", feature)',
};

function listSqliteIndexes(db: DatabaseSync): readonly string[] {
  return listSqliteNames(db, 'index').map((name) => {
    const sql = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(name)?.sql;
    return normalizeIndex(String(sql)).replace(/\w+ ON \w+ \([^)]*\)$/, (on) => DIFFERENT[on] ?? on);
  });
}

/** Each of the two describes the same index in its own way. */
function normalizeIndex(sql: string): string {
  return sql.replace(/\bpublic\.|USING btree /g, '').replace(/WHERE \((.*)\)$/, 'WHERE $1');
}

interface FoundColumn {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
  readonly is_nullable: string;
  readonly collation_name: string | null;
}

async function describePostgres(connection: Connection) {
  const columns = await connection.query<FoundColumn>(
    `SELECT table_name, column_name, data_type, is_nullable, collation_name FROM information_schema.columns
     WHERE table_schema = 'public' ORDER BY column_name COLLATE "C"`,
  );
  const keys = await connection.query<{ table_name: string; key: string }>(
    `SELECT table_name, string_agg(column_name, ', ' ORDER BY ordinal_position) AS key
     FROM information_schema.key_column_usage JOIN information_schema.table_constraints
       USING (table_name, constraint_name)
     WHERE constraint_type = 'PRIMARY KEY' GROUP BY table_name`,
  );
  const indexes = await connection.query(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE '%\\_by\\_%'
       OR indexname LIKE '%\\_without\\_%' ORDER BY indexname COLLATE "C"`,
  );
  return { columns, keys, indexes: indexes.map(({ indexdef }) => normalizeIndex(String(indexdef))) };
}

const KINDS: Record<string, string> = { bigint: 'number', text: 'text', bytea: 'bytes' };

function foundTable(
  { columns, keys }: Awaited<ReturnType<typeof describePostgres>>,
  table: string,
): FoundTable {
  return {
    columns: columns
      .filter(({ table_name }) => table_name === table)
      .map(({ column_name, data_type, is_nullable }) => ({
        name: column_name,
        kind: KINDS[data_type] ?? data_type,
        isNullable: is_nullable === 'YES',
      })),
    key: keys.find(({ table_name }) => table_name === table)?.key.split(', ') ?? [],
  };
}

describe('the schema', { skip }, () => {
  test('has the tables, columns and keys that are described, and what several servers need', async (t) => {
    const connection = await openFresh(t);
    await migrate(connection);
    const actual = await describePostgres(connection);
    assert.deepEqual(await listTables(connection), [...TABLE_NAMES, ...EXTRA_TABLES].toSorted());
    for (const table of TABLE_NAMES) {
      assert.deepEqual(foundTable(actual, table), expectedTable(table, 'postgres'), table);
    }
    const texts = actual.columns.filter(({ data_type }) => data_type === 'text');
    for (const row of texts) assert.equal(row.collation_name, 'C', `${row.table_name}.${row.column_name}`);
  });

  test('has the indexes of SQLite', async (t) => {
    const db = openWritable(join(temporaryFolder(t), 'berth.db'));
    t.after(() => db.close());
    const connection = await openFresh(t);
    await migrate(connection);
    const { indexes } = await describePostgres(connection);
    assert.deepEqual(indexes, [...listSqliteIndexes(db), ...EXTRA_INDEXES].toSorted());
  });

  test('begins with one row for the order of the links and one for the leader', async (t) => {
    const connection = await openFresh(t);
    await migrate(connection);
    const [order] = await connection.query('SELECT * FROM audit_order');
    const [leader] = await connection.query('SELECT * FROM leader');
    assert.deepEqual(
      [order, leader],
      [
        { id: 1, last_seq: 0 },
        { id: 1, holder: null, expires_at: 0 },
      ],
    );
  });
});
