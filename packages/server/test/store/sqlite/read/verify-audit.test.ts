import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, type TestContext, test } from 'node:test';
import type { StoreNotice } from '../../../../src/core/nouns/store-notice.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import type { AuditVerdict } from '../../../../src/store/query.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { verifyAudit } from '../../../../src/store/sqlite/read/verify-audit.ts';
import { openReadOnly } from '../../../../src/store/sqlite/wire/database.ts';
import { loadAuditKey, loadIdentityKey } from '../../../../src/store/sqlite/wire/sealed-secrets.ts';
import { SqliteWriter } from '../../../../src/store/sqlite/write/writer.ts';
import type { Store } from '../../../../src/store/store.ts';
import { exampleLicense, LICENSE_ID, NOW, register, unregister } from '../../../core/examples.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

let history: string | undefined;

after(() => {
  if (history !== undefined) rmSync(dirname(history), { recursive: true });
});

/** A closed store with six links on the license's chain and two on the system's, copied for each test. */
async function writeHistory(file: string): Promise<void> {
  if (history === undefined) {
    history = join(mkdtempSync(join(tmpdir(), 'berth-history-')), 'berth.db');
    await makeHistory(history);
  }
  copyFileSync(history, file);
}

async function makeHistory(file: string): Promise<void> {
  const clock = createManualClock(NOW);
  const store = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 2 }), by: 'admin' });
  for (const command of [register('ada'), register('bob'), register('eve'), unregister('ada')]) {
    clock.advance(1000);
    await store.execute(command);
  }
  await store.execute(register('zoe'));
  for (const version of ['1.0.0', '1.1.0']) {
    await store.execute({ kind: 'record_event', event: { kind: 'server_started', version } });
  }
  await store.close();
}

function open(file: string): Store {
  return openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice: () => {} });
}

/** Each of them is lent a slot, in its own commit. */
async function goOn(file: string, users: readonly string[]): Promise<void> {
  const store = open(file);
  for (const user of users) await store.execute(register(user));
  await store.close();
}

async function verify(file: string): Promise<AuditVerdict> {
  const store = open(file);
  try {
    return await store.read({ kind: 'verify_audit' });
  } finally {
    await store.close();
  }
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** What the verification says of a history that was changed with SQL. */
async function verifyAfter(t: TestContext, tamper: (db: DatabaseSync) => void): Promise<AuditVerdict> {
  const file = join(makeFolder(t), 'berth.db');
  await writeHistory(file);
  const db = new DatabaseSync(file);
  tamper(db);
  db.close();
  return verify(file);
}

function run(sql: string): (db: DatabaseSync) => void {
  return (db) => db.exec(sql.replaceAll(':chain', String(LICENSE_ID)));
}

/** Swaps the content of two links, each with its own MAC, and leaves their numbers in order. */
const SWAP = `
  UPDATE audit_link SET n = 100 WHERE chain = :chain AND n = 2;
  UPDATE audit_link SET n = 2 WHERE chain = :chain AND n = 3;
  UPDATE audit_link SET n = 3 WHERE chain = :chain AND n = 100`;

/** Makes room between two links and inserts a copy of the first. */
const INSERT = `
  UPDATE audit_link SET n = n + 100 WHERE chain = :chain AND n > 2;
  INSERT INTO audit_link (chain, n, at, events, mac)
    SELECT chain, 3, at, events, mac FROM audit_link WHERE chain = :chain AND n = 2;
  UPDATE audit_link SET n = n - 99 WHERE chain = :chain AND n > 100;
  UPDATE license SET audit_n = audit_n + 1`;

/** Removes the newest link, and makes everything look as it did before. */
const CUT = `
  DELETE FROM audit_link WHERE chain = :chain AND n = 6;
  UPDATE license SET (audit_n, audit_mac) =
    (SELECT n, mac FROM audit_link WHERE chain = :chain AND n = 5)`;

describe('the audit', () => {
  test('verifies as it was written', async (t) => {
    const verdict = await verifyAfter(t, () => {});
    assert.deepEqual(verdict, { ok: true, chains: 2, links: 8, events: 8, thinned: 0, problems: [] });
  });

  const found: [string, string, number][] = [
    ['an edited event', `UPDATE audit_link SET events = replace(events, 'bob', 'bib') WHERE n = 3`, 3],
    ['an edited time', 'UPDATE audit_link SET at = at + 1 WHERE chain = :chain AND n = 4', 4],
    ['an edited MAC', "UPDATE audit_link SET mac = x'00' WHERE chain = :chain AND n = 4", 4],
    ['events that are not JSON', "UPDATE audit_link SET events = 'x' WHERE chain = :chain AND n = 4", 4],
    ['a deleted link', 'DELETE FROM audit_link WHERE chain = :chain AND n = 3', 4],
    ['a deleted first link', 'DELETE FROM audit_link WHERE chain = :chain AND n = 1', 2],
    ['two swapped links', SWAP, 2],
    ['an inserted link', INSERT, 3],
    ['a cut tail', 'DELETE FROM audit_link WHERE chain = :chain AND n > 4', 6],
    ['a missing chain', 'DELETE FROM audit_link WHERE chain = :chain', 6],
    ['a head that was set back', 'UPDATE license SET audit_n = audit_n - 1', 5],
  ];
  for (const [title, sql, n] of found) {
    test(`finds ${title}, and where`, async (t) => {
      const { ok, problems } = await verifyAfter(t, run(sql));
      assert.equal(ok, false);
      assert.deepEqual([problems[0]?.chain, problems[0]?.n], [LICENSE_ID, n]);
      assert.match(problems[0]?.problem ?? '', /^.+\.$/);
    });
  }

  test('finds a genuine link of another history', async (t) => {
    const folder = makeFolder(t);
    const [file, fork] = [join(folder, 'berth.db'), join(folder, 'fork.db')];
    await writeHistory(file);
    copyFileSync(file, fork);
    await goOn(file, ['one', 'two']);
    await goOn(fork, ['other', 'two']);
    const db = new DatabaseSync(file);
    db.exec(`ATTACH '${fork}' AS fork;
      UPDATE main.audit_link SET (at, events, mac) =
        (SELECT at, events, mac FROM fork.audit_link WHERE chain = ${LICENSE_ID} AND n = 7)
      WHERE chain = ${LICENSE_ID} AND n = 7`);
    db.close();
    const { problems } = await verify(file);
    assert.deepEqual(
      problems.map(({ chain, n }) => [chain, n]),
      [[LICENSE_ID, 8]],
    );
  });

  test('may be broken in every link: all are counted, the first are listed', async (t) => {
    // More than a call takes arguments.
    const count = 150_000;
    const verdict = await verifyAfter(
      t,
      run(`WITH RECURSIVE link(n) AS (SELECT 7 UNION ALL SELECT n + 1 FROM link WHERE n < ${count})
        INSERT INTO audit_link (chain, n, at, events, mac) SELECT :chain, n, n, '[{}]', x'00' FROM link;
        UPDATE audit_link SET mac = x'00';
        UPDATE license SET audit_n = ${count}`),
    );
    const { problems, ...counts } = verdict;
    assert.deepEqual(counts, { ok: false, chains: 2, links: count + 2, events: count + 2, thinned: 0 });
    assert.equal(problems.length, 100);
    assert.deepEqual([problems[0]?.chain, problems[0]?.n], [0, 1]);
    assert.deepEqual([problems[99]?.chain, problems[99]?.n], [LICENSE_ID, 97]);
  });

  test('is verified as of one moment, while it grows', (t) => {
    const file = join(makeFolder(t), 'berth.db');
    const writer = new SqliteWriter({ file, masterKey, clock: createManualClock(NOW) });
    const license = exampleLicense({ slots: 100 });
    writer.executeBatch([{ kind: 'install_license', license, by: 'admin' }, register('ada')]);
    const db = openReadOnly(file);
    const keys = { audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) };
    const prepare = db.prepare.bind(db);
    let commits = 0;
    // Another connection commits before every query of the verification.
    db.prepare = (...args) => {
      writer.executeBatch([register(`user-${++commits}`)]);
      return prepare(...args);
    };
    assert.deepEqual(verifyAudit(db, keys).problems, []);
    assert.ok(commits >= 3);
    db.close();
    writer.close();
  });

  test('finds a link that was moved to another chain', async (t) => {
    const { problems } = await verifyAfter(
      t,
      run('UPDATE audit_link SET chain = 0, n = 3 WHERE chain = :chain AND n = 6'),
    );
    assert.deepEqual(new Set(problems.map(({ chain }) => chain)), new Set([0, LICENSE_ID]));
  });

  test('finds a tail that was cut off with its head, however much is written later', async (t) => {
    const file = join(makeFolder(t), 'berth.db');
    await writeHistory(file);
    const db = new DatabaseSync(file);
    run(CUT)(db);
    db.close();
    for (const users of [['one'], ['two', 'three']]) {
      await goOn(file, users);
      const { problems } = await verify(file);
      assert.deepEqual(
        problems.map(({ chain, n }) => [chain, n]),
        [[null, 0]],
      );
    }
  });

  test('is reported in the log when it does not match, and only then', async (t) => {
    const file = join(makeFolder(t), 'berth.db');
    const openAndListen = async () => {
      const notices: StoreNotice[] = [];
      const onNotice = (notice: StoreNotice) => notices.push(notice);
      const store = openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice });
      await store.keepClock();
      await store.close();
      return notices.map(({ kind }) => kind);
    };
    await writeHistory(file);
    assert.deepEqual(await openAndListen(), []);
    const db = new DatabaseSync(file);
    run(CUT)(db);
    db.close();
    assert.deepEqual(await openAndListen(), ['pages_changed', 'anchor_lost']);
    assert.deepEqual(await openAndListen(), ['pages_changed', 'anchor_lost']);
  });

  test('finds links of a license that does not exist', async (t) => {
    const { problems } = await verifyAfter(t, run('DELETE FROM license'));
    assert.deepEqual(
      problems.map(({ chain, n }) => [chain, n]),
      [
        [LICENSE_ID, 0],
        [null, 0],
      ],
    );
  });

  test('names no more than a hundred problems', async (t) => {
    const flood = `
      WITH RECURSIVE many(n) AS (SELECT 1000 UNION ALL SELECT n + 2 FROM many WHERE n < 2000)
      INSERT INTO audit_link (chain, n, at, events, mac) SELECT :chain, n, 0, '[]', x'' FROM many`;
    assert.equal((await verifyAfter(t, run(flood))).problems.length, 100);
  });
});
