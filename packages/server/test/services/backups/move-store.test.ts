import assert from 'node:assert/strict';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../../../../../test/support/stores/postgres.ts';
import { SELDOM, writeRichHistory } from '../../../../../test/support/stores/rich-history.ts';
import type { Command } from '../../../src/core/command.ts';
import { DAY_MS, instant, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { heldKey } from '../../../src/core/nouns/notice-key.ts';
import { type MovedStore, moveStore } from '../../../src/services/backups/move-store.ts';
import { createManualClock, type ManualClock } from '../../../src/store/clock.ts';
import { columnsOf, TABLE_NAMES } from '../../../src/store/engine/tables.ts';
import { openPostgresSource } from '../../../src/store/postgres/move/postgres-source.ts';
import { openPostgresTarget } from '../../../src/store/postgres/move/postgres-target.ts';
import type { Connection } from '../../../src/store/postgres/wire/connection.ts';
import { openConnection } from '../../../src/store/postgres/wire/database.ts';
import { parseDatabaseUrl } from '../../../src/store/postgres/wire/database-url.ts';
import type { Query } from '../../../src/store/query.ts';
import { openDataFolder } from '../../../src/store/sqlite/data-folder.ts';
import { openInThreadStore } from '../../../src/store/sqlite/in-thread-store.ts';
import { openSqliteSource } from '../../../src/store/sqlite/move/sqlite-source.ts';
import { openSqliteTarget } from '../../../src/store/sqlite/move/sqlite-target.ts';
import type { Store } from '../../../src/store/store.ts';
import type { StoreSource, StoreTarget } from '../../../src/store/store-copy.ts';
import { borrow, consume, exampleLicense, NOW, register, registerFeature } from '../../core/examples.ts';
import { openPatiently } from '../../store/exam/postgres-database.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

const KEY = 'ab'.repeat(32);
const GIVEN = { value: KEY, file: null };
const SOURCE = { value: KEY, file: '/nowhere/master.key' };
const MASTER_KEY = Uint8Array.from(Buffer.from(KEY, 'hex')) as never;

function openFile(folder: string, clock: ManualClock): Store {
  const file = join(folder, 'berth.db');
  return openInThreadStore({ file, masterKey: MASTER_KEY, clock, onNotice: () => {} });
}

/** A folder with a bit of everything; answers the time at its end. */
async function writeFolder(t: TestContext) {
  const folder = temporaryFolder(t);
  const clock = createManualClock(NOW);
  const store = openFile(folder, clock);
  await writeRichHistory(store, clock);
  await store.close();
  using db = new DatabaseSync(join(folder, 'berth.db'));
  db.exec(SELDOM);
  return { folder, clock };
}

async function createDatabase(): Promise<string> {
  return (await shared()).createDatabase();
}

const fromFolder = async (folder: string) => {
  const source = await openSqliteSource({ folder, masterKey: GIVEN });
  assert.ok(source);
  return source;
};
const fromDatabase = (url: string) => openPostgresSource({ url, masterKey: SOURCE, prepareStatements: true });
const toDatabase = (url: string) => openPostgresTarget({ url, masterKey: SOURCE, prepareStatements: true });
const toFolder = async (folder: string) => openSqliteTarget({ folder, masterKey: SOURCE });

async function move(from: Promise<StoreSource>, to: () => Promise<StoreTarget>): Promise<MovedStore> {
  const source = await from;
  try {
    const target = await to();
    try {
      return await moveStore(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/**
 * Every row of every table, as it is. Tables have no order. Without the log of renewals, which is empty when
 * a server has stopped, and without what is counted anew.
 */
function readAll(folder: string): Record<string, unknown[]> {
  using db = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true });
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'renewal' ORDER BY name")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => {
      const rows = db
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .map(({ counts: _, ...row }) => row);
      return [name, rows.map((row) => JSON.stringify(Object.values(row))).sort()];
    }),
  );
}

async function connectTo(t: TestContext, url: string): Promise<Connection> {
  const options = { prepareStatements: true, answerTimeoutMs: 30_000, connectTimeoutMs: 10_000 };
  const connection = await openConnection({ ...options, target: parseDatabaseUrl(url) });
  t.after(() => connection.close());
  return connection;
}

/** As a server does it, by another clock. */
function openServing(url: string, clock: ManualClock): Promise<Store> {
  return openPatiently({ url, clock, masterKey: SOURCE });
}

describe('moving a store', { skip }, () => {
  test('there and back leaves every row of every table as it was', async (t) => {
    const { folder } = await writeFolder(t);
    const before = readAll(folder);
    for (const [table, rows] of Object.entries(before)) assert.ok(rows.length > 0, `${table} is not empty`);
    const url = await createDatabase();
    const back = temporaryFolder(t);
    const there = await move(fromFolder(folder), () => toDatabase(url));
    const again = await move(fromDatabase(url), () => toFolder(back));
    assert.deepEqual(readAll(back), before);
    assert.deepEqual(again.rows, there.rows);
    assert.deepEqual(again.audit, there.audit);
    for (const table of TABLE_NAMES) assert.equal(there.rows[table], before[table]?.length, table);
    assert.equal(existsSync(join(back, 'berth.db.new')), false);
  });

  test('copies every table and column, except derived ones', async (t) => {
    const { folder } = await writeFolder(t);
    const url = await createDatabase();
    await move(fromFolder(folder), () => toDatabase(url));
    const connection = await connectTo(t, url);
    const rows = await connection.query(`SELECT table_name || '.' || column_name AS name
      FROM information_schema.columns WHERE table_schema = current_schema()`);
    const own = ['audit_order', 'berth_schema', 'leader', 'place_count', 'server_instance', 'waiting'];
    const postgres = rows.map(({ name }) => name as string).filter((name) => !own.includes(tableOf(name)));
    using db = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true });
    const sqlite = db
      .prepare(`SELECT m.name || '.' || c.name AS name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
        WHERE m.type = 'table'`)
      .all()
      .map(({ name }) => name as string);
    const copied = TABLE_NAMES.flatMap((table) => columnsOf(table).map((column) => `${table}.${column}`));
    const missing = (names: readonly string[]) => names.filter((name) => !copied.includes(name)).sort();
    const ofLog = ['renewal.ends_at', 'renewal.license_id', 'renewal.seq', 'renewal.users'];
    assert.deepEqual(missing(sqlite), [
      'license.counts',
      'registration.due_at',
      ...ofLog,
      'server.audit_anchor',
    ]);
    assert.deepEqual(missing(postgres), [
      'audit_link.id',
      'license.audit_anchor',
      'license.counts',
      'license.line_version',
      'license.mark',
      'license.receipts',
      'server.alive_at',
      'server.audit_anchor',
      'server.audit_chains',
      'server.receipts',
      'server.revision',
    ]);
  });

  test('continues as the old place would have, even after a rest', async (t) => {
    const { folder, clock } = await writeFolder(t);
    const kept = temporaryFolder(t);
    cpSync(folder, kept, { recursive: true });
    const url = await createDatabase();
    await move(fromFolder(folder), () => toDatabase(url));
    clock.advance(12 * MINUTE_MS);
    const [sqlite, postgres] = [openFile(kept, clock), await openServing(url, clock)];
    t.after(() => Promise.all([sqlite.close(), postgres.close()]));
    for (const command of GOING_ON) {
      const expected = await sqlite.execute(command);
      assert.deepEqual(await postgres.execute(command), expected, JSON.stringify(command));
    }
    await postgres.keepClock();
    for (const query of LISTS) {
      assert.deepEqual(await postgres.read(query), await sqlite.read(query), query.kind);
    }
    const { ok, events } = await postgres.read({ kind: 'verify_audit' });
    assert.deepEqual([ok, events], [true, (await sqlite.read({ kind: 'verify_audit' })).events]);
  });

  test('never lets time run back: a clock that was ahead stays ahead', async (t) => {
    const { folder, clock } = await writeFolder(t);
    const mark = clock.readWall();
    clock.setWall(instant(mark - DAY_MS));
    const url = await createDatabase();
    await move(fromFolder(folder), () => toDatabase(url));
    const store = await openServing(url, clock);
    const outcome = await store.execute(register('late', { licenseId: licenseId(2) }));
    const { now } = await store.keepClock();
    await store.close();
    assert.ok(outcome.kind === 'granted' && outcome.registration.registeredAt >= mark);
    assert.ok(now >= mark);
    const back = temporaryFolder(t);
    await move(fromDatabase(url), () => toFolder(back));
    const moved = openFile(back, clock);
    assert.ok((await moved.keepClock()).now >= mark);
    await moved.close();
  });

  test('copies thousands of slots and borrows', async (t) => {
    const folder = temporaryFolder(t);
    await fillFolder(folder, 2000);
    const [url, back] = [await createDatabase(), temporaryFolder(t)];
    const before = readAll(folder);
    const { rows } = await move(fromFolder(folder), () => toDatabase(url));
    assert.equal(rows.registration, 2000);
    await move(fromDatabase(url), () => toFolder(back));
    assert.deepEqual(readAll(back), before);
  });

  test('numbers links that a crash left without a number', async (t) => {
    const { folder, clock } = await writeFolder(t);
    const [url, back] = [await createDatabase(), temporaryFolder(t)];
    await move(fromFolder(folder), () => toDatabase(url));
    const connection = await connectTo(t, url);
    await connection.query('UPDATE audit_link SET seq = NULL WHERE id > 20');
    await move(fromDatabase(url), () => toFolder(back));
    const store = openFile(back, clock);
    assert.equal((await store.read({ kind: 'verify_audit' })).ok, true);
    await store.close();
  });
});

const tableOf = (column: string) => column.split('.')[0] ?? '';

const CAD = { licenseId: licenseId(2) };

const GOING_ON: readonly Command[] = [
  register('zoe', CAD),
  register('new', CAD),
  register('eve', CAD),
  borrow('new', 'longest', CAD),
  registerFeature('new', CAD),
  consume(7, { ...CAD, idempotency: { key: 'k', bodyHash: 'b' } }),
  consume(3, CAD),
  consume(1, { licenseId: licenseId(11) }),
  { kind: 'cut_report', licenseId: licenseId(2), feature: null, reportId: 'next' },
  { kind: 'install_license', license: exampleLicense({ id: licenseId(30), product: 'new' }), by: 'admin' },
  { kind: 'remove_license', licenseId: licenseId(5), by: 'admin' },
  { kind: 'sign_heads' },
];

const LISTS: readonly Query[] = [
  { kind: 'list_licenses', product: null },
  { kind: 'list_registrations', licenseId: null, product: null, user: null, limit: 1000, after: null },
  { kind: 'list_accounts' },
  { kind: 'list_tokens', limit: 100 },
  { kind: 'list_backlog' },
  { kind: 'list_usage' },
  { kind: 'list_segments' },
  { kind: 'find_rules' },
  { kind: 'list_bars' },
  { kind: 'find_cloud_keys' },
  { kind: 'find_second_factor', account: 'Zoë' },
  { kind: 'find_cursor', follower: 'webhook' },
  { kind: 'find_notice', key: heldKey('a-cloud') },
  { kind: 'list_notices', of: 'cloud_held' },
  { kind: 'describe_seal' },
];

/** So many slots, of which half are borrowed. */
async function fillFolder(folder: string, count: number): Promise<void> {
  const store = openFile(folder, createManualClock(NOW));
  const license = exampleLicense({ slots: count });
  await store.execute({ kind: 'install_license', license, by: 'admin' });
  const commands = Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? register(`user-${index}`) : borrow(`user-${index}`, 'longest'),
  );
  await Promise.all(commands.map((command) => store.execute(command)));
  await store.close();
}

describe('a move that was interrupted after the new place was written', { skip }, () => {
  async function cutOff(t: TestContext) {
    const { folder, clock } = await writeFolder(t);
    const url = await createDatabase();
    await move(fromFolder(folder), () => toDatabase(url));
    rmSync(join(folder, 'moved-to-postgres'));
    return { folder, url, clock };
  }

  test('is completed by repeating it', async (t) => {
    const { folder, url } = await cutOff(t);
    await move(fromFolder(folder), () => toDatabase(url));
    await assert.rejects(fromFolder(folder), /was moved to postgres:/);
  });

  test('is refused when one of the two was used since', async (t) => {
    for (const used of ['folder', 'database', 'both']) {
      const { folder, url, clock } = await cutOff(t);
      const start: Command = { kind: 'record_event', event: { kind: 'server_started', version: used } };
      const stores: Store[] = [];
      if (used !== 'database') stores.push(openFile(folder, clock));
      if (used !== 'folder') stores.push(await openServing(url, clock));
      for (const store of stores) {
        clock.advance(1000);
        await store.execute(start);
        await store.close();
      }
      const again = move(fromFolder(folder), () => toDatabase(url));
      await assert.rejects(again, /is already in postgres:.*, and one of the two has been used since/, used);
    }
  });
});

describe('a place that data was moved away from', { skip }, () => {
  test('is refused, in a database also by servers that were only silent', async (t) => {
    const { folder, clock } = await writeFolder(t);
    const [url, back] = [await createDatabase(), temporaryFolder(t)];
    await move(fromFolder(folder), () => toDatabase(url));
    const opening = openDataFolder({ folder, masterKey: GIVEN, onNotice: () => {}, useThreads: false });
    await assert.rejects(opening, /was moved to postgres:/);
    const silent = await openServing(url, clock);
    t.after(() => silent.close());
    const connection = await connectTo(t, url);
    await connection.query('UPDATE server_instance SET seen_at = 0');
    await move(fromDatabase(url), () => toFolder(back));
    await assert.rejects(openServing(url, clock), /The data of this database was moved to .*berth-test-/);
    await assert.rejects(silent.execute(register('ada', CAD)), /The data of this database was moved to/);
    await assert.rejects(fromDatabase(url), /The data of this database was moved to/);
    await connection.query('DROP TABLE moved_away');
    const outcome = await silent.execute(register('ada', CAD));
    assert.equal(outcome.kind, 'granted');
  });

  test('is not used as the new place', async (t) => {
    const { folder } = await writeFolder(t);
    const [url, back] = [await createDatabase(), temporaryFolder(t)];
    await move(fromFolder(folder), () => toDatabase(url));
    await assert.rejects(
      move(fromDatabase(url), () => toFolder(folder)),
      /has the data from before it was moved/,
    );
    await move(fromDatabase(url), () => toFolder(back));
    await assert.rejects(
      move(fromFolder(back), () => toDatabase(url)),
      /has the data from before it was moved/,
    );
    rmSync(join(folder, 'berth.db'));
    const other = await createDatabase();
    await move(fromFolder(back), () => toDatabase(other));
    await move(fromDatabase(other), () => toFolder(folder));
    const source = await fromFolder(folder);
    await source.close();
  });
});
