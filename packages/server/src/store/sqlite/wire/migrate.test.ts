import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import {
  describeSqliteTable,
  expectedTable,
  listSqliteNames,
} from '../../../../../../test/support/stores/schema.ts';
import {
  consume,
  exampleFeature,
  exampleLicense,
  exampleLimits,
  NOW,
  register,
  registerFeature,
} from '../../../core/examples.ts';
import type { Feature } from '../../../core/nouns/feature.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../core/nouns/instant.ts';
import { type MasterKey, seal } from '../../../secrets/seal.ts';
import { createManualClock } from '../../clock.ts';
import { MIGRATIONS, NAMES_USERS, SCHEMA_VERSION } from '../../engine/migrations.ts';
import { TABLE_NAMES } from '../../engine/tables.ts';
import { codeOf, grantedOf, measuredOf } from '../../exam/exam-store.ts';
import { expectNewNames, OLD_NAMES } from '../../exam/old-names.ts';
import { expectSoundFile } from '../../exam/sqlite-file.ts';
import { openInThreadStore } from '../in-thread-store.ts';
import { openWritable } from './database.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

/** The first release could not borrow features. */
const OLD_RENDER = { ...exampleFeature('render'), floating: { slots: 2, timeoutMinutes: 10 } } as Feature;
const LICENSE = exampleLicense({ slots: 1, consumption: exampleLimits(), features: [OLD_RENDER] });

/** It did not know the licensing cloud either. */
const { tie: _, maxOfflineDays: __, ...OLD_LICENSE } = LICENSE;
const ENDS_AT = plus(NOW, 9 * MINUTE_MS);

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-migrate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A database as the first release left it: one license, one holder of its slot, one denied user. */
function writeSchema1(file: string): void {
  const sql = readFileSync(new URL('../migrations/0001-lending.sql', import.meta.url), 'utf8');
  const db = new DatabaseSync(file);
  const empty = new Uint8Array(0);
  db.exec(sql);
  db.prepare('INSERT INTO server (id, identity, mark, audit_mac) VALUES (1, ?, ?, ?)').run(
    'ab'.repeat(16),
    NOW,
    empty,
  );
  db.prepare(
    `INSERT INTO license (id, product, facts, added_order, added_at, in_use, audit_mac)
     VALUES (?, ?, ?, 1, ?, 1, ?)`,
  ).run(LICENSE.id, LICENSE.product, JSON.stringify(OLD_LICENSE), NOW, empty);
  db.prepare(
    `INSERT INTO registration (license_id, user, hostname, registered_at, ends_at)
     VALUES (?, 'ada', 'desk', ?, ?)`,
  ).run(LICENSE.id, NOW, ENDS_AT);
  db.prepare('INSERT INTO denial (license_id, user, code, denied_at, repeated) VALUES (?, ?, ?, ?, ?)').run(
    LICENSE.id,
    'bob',
    'floating_not_available',
    NOW,
    3,
  );
  db.exec('PRAGMA user_version = 1; PRAGMA application_id = 0x42525448');
  db.close();
}

/** As earlier releases stored it. */
function sealOldAuditKey(db: DatabaseSync): void {
  const sealed = seal(masterKey, 'audit_key', randomBytes(32));
  db.prepare("INSERT INTO sealed_secret (name, sealed) VALUES ('audit_key', ?)").run(sealed);
}

function open(folder: string) {
  const clock = createManualClock(NOW);
  const file = join(folder, 'berth.db');
  return { clock, store: openInThreadStore({ file, masterKey, clock, onNotice: () => {} }) };
}

describe('data of the schema before users were named by NFC', () => {
  function writeEarlier(file: string): DatabaseSync {
    const db = new DatabaseSync(file);
    const earlier = MIGRATIONS.slice(0, MIGRATIONS.indexOf(NAMES_USERS));
    for (const name of earlier) {
      db.exec(readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8'));
    }
    db.prepare("INSERT INTO server (id, identity, audit_mac) VALUES (1, 'x', x'')").run();
    db.exec(`PRAGMA user_version = ${earlier.length}; PRAGMA application_id = 0x42525448`);
    return db;
  }

  test('has merged users whose names become equal, with the later end, all or nothing', async (t) => {
    const file = join(makeFolder(t), 'berth.db');
    const db = writeEarlier(file);
    const ask = async (sql: string) => db.prepare(sql).all();
    for (const sql of OLD_NAMES) db.exec(sql);
    const before = await ask('SELECT * FROM registration ORDER BY "user"');
    db.exec("CREATE TRIGGER t BEFORE DELETE ON denial BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert.throws(() => openWritable(file), /no/);
    assert.deepEqual(await ask('SELECT * FROM registration ORDER BY "user"'), before);
    db.exec('DROP TRIGGER t');
    openWritable(file).close();
    await expectNewNames(ask);
    db.close();
  });

  test('renames fifty thousand users at once', (t) => {
    const file = join(makeFolder(t), 'berth.db');
    const db = writeEarlier(file);
    db.exec(`INSERT INTO registration (license_id, user, registered_at, ends_at)
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50000)
      SELECT 7, 'jose' || char(769) || n, 1, 2 FROM n`);
    openWritable(file).close();
    const row = db.prepare(
      "SELECT count(*) AS count FROM registration WHERE user LIKE 'jos' || char(233) || '%'",
    );
    assert.equal(row.get()?.count, 50_000);
    db.close();
  });
});

describe('data of the first schema', () => {
  test('is opened and keeps everything: who holds a slot, who was denied how often', async (t) => {
    const folder = makeFolder(t);
    writeSchema1(join(folder, 'berth.db'));
    const { store } = open(folder);
    const described = await store.read({ kind: 'describe_store' });
    assert.deepEqual(
      [described.schemaVersion, described.identity, described.registrations],
      [SCHEMA_VERSION, 'ab'.repeat(16), 1],
    );
    const [record] = await store.read({ kind: 'list_licenses', product: null });
    assert.deepEqual(record?.license, LICENSE);
    assert.equal(record?.inUse, 1);
    assert.equal(codeOf(await store.execute(register('bob'))), 'floating_not_available');
    const audit = await store.read({ kind: 'list_audit', chain: LICENSE.id, limit: 10, before: null });
    assert.deepEqual(audit, [], 'the denial was folded into the counter that was there');
    const { inUse, registration } = grantedOf(await store.execute(register('ada')));
    assert.deepEqual([inUse, registration.registeredAt], [1, NOW]);
    await store.close();
  });

  for (const oneTime of [0, 1]) {
    const whose = oneTime === 0 ? 'of an administrator with a password of their own' : 'that is being set up';
    test(`${whose} is that afterwards, and tokens stay what they were`, async (t) => {
      const folder = makeFolder(t);
      const file = join(folder, 'berth.db');
      writeSchema1(file);
      const db = new DatabaseSync(file);
      db.prepare("INSERT INTO account VALUES ('admin', 'admin', 'hash', ?, ?)").run(oneTime, NOW);
      db.prepare("INSERT INTO token VALUES (?, 'admin', ?, ?)").run('ab'.repeat(32), NOW, NOW);
      db.close();
      const { store } = open(folder);
      t.after(() => store.close());
      assert.equal(await store.read({ kind: 'is_set_up' }), oneTime === 0);
      const found = await store.read({ kind: 'find_token', tokenHash: 'ab'.repeat(32) });
      const { kind, account, role, id, usedAt } = found?.token ?? {};
      assert.deepEqual([kind, account, role, id, usedAt], ['auth', 'admin', 'admin', 'abababababab', NOW]);
      assert.equal(found?.token.restriction, null);
      const made = (await store.read({ kind: 'find_account', name: 'admin' }))?.oneTime ?? null;
      assert.equal(made === null, oneTime === 0);
      if (made !== null) assert.ok(made.madeAt >= NOW && !made.isUsed, 'its days begin with the upgrade');
    });
  }

  test('is anchored when it is opened, and only then', async (t) => {
    const folder = makeFolder(t);
    const file = join(folder, 'berth.db');
    writeSchema1(file);
    const db = new DatabaseSync(file);
    sealOldAuditKey(db);
    const sealed = db.prepare("SELECT sealed FROM sealed_secret WHERE name = 'audit_key'").get();
    db.close();
    const { store } = open(folder);
    await store.execute(register('ada', { licenseId: LICENSE.id }));
    assert.deepEqual((await store.read({ kind: 'verify_audit' })).problems, []);
    await store.close();
    const tampering = new DatabaseSync(file);
    assert.equal(tampering.prepare("SELECT 1 FROM sealed_secret WHERE name = 'audit_key'").get(), undefined);
    tampering.exec('UPDATE server SET audit_anchor = NULL');
    tampering.prepare("INSERT INTO sealed_secret VALUES ('audit_key', ?)").run(sealed?.sealed as Uint8Array);
    tampering.close();
    const again = open(folder).store;
    await again.execute(register('bob', { licenseId: LICENSE.id }));
    const { problems } = await again.read({ kind: 'verify_audit' });
    assert.deepEqual(problems, [{ chain: null, n: 0, problem: 'The anchor of the chains is missing.' }]);
    await again.close();
  });

  test('counts from the first day, and its old counter becomes an event', async (t) => {
    const folder = makeFolder(t);
    writeSchema1(join(folder, 'berth.db'));
    const { store, clock } = open(folder);
    assert.equal(measuredOf(await store.execute(consume(4))).total, 4);
    clock.advance(MINUTE_MS);
    await store.execute({ kind: 'collect', licenseId: LICENSE.id });
    const links = await store.read({ kind: 'list_audit', chain: LICENSE.id, limit: 10, before: null });
    const events = links.flatMap((link) => link.events);
    assert.deepEqual(
      events.find(({ kind }) => kind === 'denials_repeated'),
      { kind: 'denials_repeated', user: 'bob', code: 'floating_not_available', repeated: 3 },
    );
    await store.close();
    await expectSoundFile(folder);
    const again = open(folder).store;
    const [record] = await again.read({ kind: 'list_licenses', product: null });
    assert.equal(record?.standing.total, 4);
    await again.close();
  });

  test('lends the features of its licenses, and for no longer than it could', async (t) => {
    const folder = makeFolder(t);
    writeSchema1(join(folder, 'berth.db'));
    const { store, clock } = open(folder);
    assert.equal(measuredOf(await store.execute(registerFeature('ada'))).inUse, 1);
    const borrow = registerFeature('ada', { until: 'longest' });
    assert.equal(codeOf(await store.execute(borrow)), 'license_borrow_not_allowed');
    clock.setWall(plus(NOW, -HOUR_MS));
    assert.equal(codeOf(await store.execute({ kind: 'reset_clock', by: 'admin' })), 'clock_reset');
    const [record] = await store.read({ kind: 'list_licenses', product: null });
    assert.equal(record?.standing.features[0]?.inUse, 1);
    clock.advance(10 * MINUTE_MS);
    const [later] = await store.read({ kind: 'list_licenses', product: null });
    assert.equal(later?.standing.features[0]?.inUse, 0);
    await store.close();
  });
});

describe('the schema', () => {
  test('has the tables, columns and keys that are described', (t) => {
    const db = openWritable(join(makeFolder(t), 'berth.db'));
    t.after(() => db.close());
    assert.deepEqual(listSqliteNames(db, 'table'), [...TABLE_NAMES, 'renewal'].sort());
    for (const table of TABLE_NAMES) {
      assert.deepEqual(describeSqliteTable(db, table), expectedTable(table, 'sqlite'), table);
    }
  });
});
