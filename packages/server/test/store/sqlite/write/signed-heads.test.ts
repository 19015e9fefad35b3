import assert from 'node:assert/strict';
import { createHash, createPrivateKey, createPublicKey, randomBytes, verify } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import type { HeadsSigned } from '../../../../src/core/nouns/audit-event.ts';
import type { StoreNotice } from '../../../../src/core/nouns/store-notice.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { verifyAudit } from '../../../../src/store/sqlite/read/verify-audit.ts';
import { loadAuditKey, loadIdentityKey } from '../../../../src/store/sqlite/wire/sealed-secrets.ts';
import type { Store } from '../../../../src/store/store.ts';
import { exampleLicense, LICENSE_ID, NOW, register } from '../../../core/examples.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;
const SIGN = { kind: 'sign_heads' } as const;
const STARTED = { kind: 'record_event', event: { kind: 'server_started', version: '1' } } as const;

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-heads-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'berth.db');
  const notices: StoreNotice[] = [];
  const onNotice = (notice: StoreNotice) => notices.push(notice);
  const open = (name = file) =>
    openInThreadStore({ file: name, masterKey, clock: createManualClock(NOW), onNotice });
  return { file, open, notices };
}

async function install(store: Store): Promise<void> {
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 9 }), by: 'admin' });
}

async function listSigned(store: Store): Promise<readonly HeadsSigned[]> {
  const links = await store.read({ kind: 'list_audit', chain: 'system', before: null, limit: 100 });
  const events = links.flatMap((link) => link.events);
  return events.filter((event): event is HeadsSigned => event.kind === 'heads_signed');
}

describe('signing the heads', () => {
  test('names every chain as it stood, under a signature of this server, and logs it', async (t) => {
    const { open, notices } = setUp(t);
    const store = open();
    await install(store);
    await store.execute(STARTED);
    await store.execute(register('ada'));
    assert.deepEqual(await store.execute(SIGN), { kind: 'done', count: 2 });
    const [signed] = await listSigned(store);
    assert.deepEqual(
      [signed?.links, signed?.heads.map(([chain, n]) => [chain, n])],
      [
        3,
        [
          [0, 1],
          [LICENSE_ID, 2],
        ],
      ],
    );
    const written = await store.read({ kind: 'list_links', after: 0, upTo: 100, limit: 100 });
    const macs = signed?.heads.map(([chain, n]) => written.find((l) => l.chain === chain && l.n === n)?.mac);
    assert.deepEqual(
      signed?.heads.map(([, , mac]) => mac),
      macs,
    );
    const lines = (signed?.heads ?? []).map((head) => `${head.join(' ')}\n`);
    const text = Buffer.from(`berth audit heads 1\n3\n${lines.join('')}`);
    const der = Buffer.from(await store.read({ kind: 'find_identity_key' }));
    const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
    assert.ok(verify(null, text, key, Buffer.from(signed?.signature ?? '', 'base64')));
    const digest = createHash('sha256').update(text).digest('hex');
    assert.equal(signed?.digest, digest);
    assert.deepEqual(notices, [{ kind: 'heads_signed', links: 3, digest }]);
    await store.close();
  });

  test('happens once for the same links, even over a restart', async (t) => {
    const { open } = setUp(t);
    const store = open();
    await install(store);
    await store.execute(SIGN);
    assert.deepEqual(await store.execute(SIGN), { kind: 'done', count: 0 });
    await store.close();
    const again = open();
    assert.deepEqual(await again.execute(SIGN), { kind: 'done', count: 0 });
    await again.execute(register('ada'));
    await again.execute(register('ada'));
    assert.deepEqual(await again.execute(SIGN), { kind: 'done', count: 2 });
    assert.equal((await listSigned(again)).length, 2);
    await again.close();
  });

  test('happens again when the same commit added links that it does not name', async (t) => {
    const { open } = setUp(t);
    const store = open();
    await install(store);
    await Promise.all([store.execute(SIGN), store.execute(SIGN), store.execute(STARTED)]);
    assert.equal((await listSigned(store)).length, 1, 'a commit signs once');
    assert.deepEqual(await store.execute(SIGN), { kind: 'done', count: 2 });
    await store.close();
  });
});

describe('a head that was signed', () => {
  /** What somebody with the audit key could make: another chain, in which everything else is right. */
  async function forge(t: TestContext) {
    const { file, open } = setUp(t);
    const store = open();
    await install(store);
    await store.close();
    copyFileSync(file, `${file}.fork`);
    for (const [name, user] of [
      [file, 'ada'],
      [`${file}.fork`, 'eve'],
    ] as const) {
      const branch = open(name);
      await branch.execute(register(user));
      if (name === file) await branch.execute(SIGN);
      await branch.close();
    }
    return file;
  }

  test('must still be in its chain, even if all MACs are right', async (t) => {
    const file = await forge(t);
    const db = new DatabaseSync(file);
    const keys = { audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) };
    assert.deepEqual(verifyAudit(db, keys).problems, []);
    db.exec(`ATTACH '${file}.fork' AS fork;
      DELETE FROM main.audit_link WHERE chain = ${LICENSE_ID};
      INSERT INTO main.audit_link (chain, n, at, events, mac)
        SELECT chain, n, at, events, mac FROM fork.audit_link WHERE chain = ${LICENSE_ID};
      UPDATE main.license SET (audit_n, audit_mac) = (SELECT audit_n, audit_mac FROM fork.license)`);
    const problems = verifyAudit(db, keys).problems.map(({ chain, problem }) => [chain, problem]);
    assert.deepEqual(problems[0], [
      0,
      `Link 2 of the chain of the license ${LICENSE_ID}, which was signed, is missing.`,
    ]);
    db.close();
  });

  test('must be signed by this server', async (t) => {
    const file = await forge(t);
    const db = new DatabaseSync(file);
    const audit = loadAuditKey(db, masterKey);
    const identity = loadIdentityKey(openEmpty(), masterKey);
    const [problem] = verifyAudit(db, { audit, identity }).problems;
    assert.match(problem?.problem ?? '', /is not from this server/);
    db.close();
  });
});

/** A database with its own key. */
function openEmpty(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE sealed_secret (name TEXT PRIMARY KEY, sealed BLOB NOT NULL)');
  return db;
}
