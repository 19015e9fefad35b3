import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { type LicenseId, licenseId } from '../../../../src/core/nouns/license.ts';
import { THIN_LIMIT } from '../../../../src/core/system/audit.ts';
import type { MasterKey } from '../../../../src/secrets/seal.ts';
import { createAuditTrail } from '../../../../src/services/audit/audit-trail.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { anchorMac, linkMac, sumHeads } from '../../../../src/store/engine/audit/audit-chain.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { verifySnapshot } from '../../../../src/store/sqlite/read/verify-audit.ts';
import { loadAuditKey, loadIdentityKey } from '../../../../src/store/sqlite/wire/sealed-secrets.ts';
import { listHeads } from '../../../../src/store/sqlite/write/audit-ledger.ts';
import type { Store } from '../../../../src/store/store.ts';
import { exampleLicense, NOW, register, unregister } from '../../../core/examples.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;
const [ONE, TWO] = [licenseId(1), licenseId(2)];
const ROUNDS = 20;

/** Two licenses on which something happens every minute, and the heads signed every five. */
async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-thin-'));
  const file = join(folder, 'berth.db');
  const clock = createManualClock(NOW);
  const stores: Store[] = [];
  const reopen = () => {
    const opened = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
    stores.push(opened);
    return opened;
  };
  const store = reopen();
  for (const id of [ONE, TWO]) {
    const license = exampleLicense({ id, product: `p${id}` });
    await store.execute({ kind: 'install_license', license, by: 'admin' });
  }
  for (let round = 0; round < ROUNDS; round++) {
    clock.advance(MINUTE_MS);
    for (const id of [ONE, TWO]) await store.execute(register('ada', { licenseId: id }));
    await store.execute(unregister('ada', { licenseId: ONE }));
    if (round % 5 === 0) await store.execute({ kind: 'sign_heads' });
  }
  const db = new DatabaseSync(file);
  t.after(async () => {
    db.close();
    await stores.at(-1)?.close();
    rmSync(folder, { recursive: true });
  });
  return { store, clock, db, reopen };
}

/** A chain of the second license that is as long as this, and as old as the first link unless told. */
function writeManyLinks(db: DatabaseSync, count: number, dateOf = (_: number): Instant => NOW): void {
  const key = loadAuditKey(db, masterKey);
  const add = db.prepare('INSERT INTO audit_link (chain, n, at, events, mac) VALUES (?, ?, ?, ?, ?)');
  let mac: Uint8Array = new Uint8Array(0);
  db.exec(`BEGIN;
    DELETE FROM audit_link WHERE chain IN (0, ${TWO});
    UPDATE server SET audit_n = 0, audit_mac = x''`);
  for (let n = 1; n <= count; n++) {
    const link = { chain: TWO, n, at: dateOf(n), events: '[{"kind":"slot_lent"}]' };
    mac = linkMac(key, mac, link);
    add.run(link.chain, n, link.at, link.events, mac);
  }
  db.prepare('UPDATE license SET audit_n = ?, audit_mac = ? WHERE id = ?').run(count, mac, TWO);
  db.prepare('UPDATE server SET audit_anchor = ?').run(anchorMac(key, sumHeads(key, listHeads(db))));
  db.exec('COMMIT');
}

function thin(store: Store, before: Instant, chain: LicenseId | 'system' | null = null) {
  return store.execute({ kind: 'thin_audit', before, chain, by: { name: 'root', address: '10.0.0.9' } });
}

async function verify(store: Store) {
  const { problems, links, thinned } = await store.read({ kind: 'verify_audit' });
  assert.deepEqual(problems, []);
  return { links, thinned };
}

const minutes = (count: number) => plus(NOW, count * MINUTE_MS);

describe('a log that was thinned out', () => {
  test('is intact, and has totals by kind', async (t) => {
    const { store } = await setUp(t);
    const before = await verify(store);
    assert.deepEqual(await thin(store, minutes(11), ONE), { kind: 'done', count: 21 });
    assert.deepEqual(await verify(store), { links: before.links - 21 + 1, thinned: 21 });
    const [segment, ...others] = await store.read({ kind: 'list_segments' });
    assert.deepEqual(others, []);
    assert.deepEqual(segment?.totals, { license_added: 1, slot_lent: 10, slot_returned: 10 });
    assert.deepEqual([segment?.firstN, segment?.lastN, segment?.links, segment?.events], [1, 21, 21, 21]);
    assert.deepEqual([segment?.firstAt, segment?.lastAt], [NOW, minutes(10)]);
    const kept = await store.read({ kind: 'list_audit', chain: ONE, before: null, limit: 100 });
    assert.equal(kept.at(-1)?.at, minutes(11));
    const [newest] = await store.read({ kind: 'list_audit', chain: 'system', before: null, limit: 1 });
    const by = { by: 'root', origin: '10.0.0.9' };
    const told = { before: new Date(minutes(11)).toISOString(), thinned: [[1, 21, 21]] };
    assert.deepEqual(newest?.events, [{ kind: 'audit_thinned', ...told, ...by }]);
  });

  test('again, continues where it was', async (t) => {
    const { store } = await setUp(t);
    await thin(store, minutes(5), ONE);
    const [first] = await store.read({ kind: 'list_segments' });
    await thin(store, minutes(11), ONE);
    const [second] = await store.read({ kind: 'list_segments' });
    assert.deepEqual([first?.lastN, second?.lastN, second?.events], [9, 21, 21]);
    assert.equal(second?.firstMac, first?.firstMac);
    assert.equal((await verify(store)).thinned, 21);
    assert.deepEqual(await thin(store, minutes(11), ONE), { kind: 'done', count: 0 });
  });

  test('on all chains, keeps the newest link of each and keeps growing', async (t) => {
    const { store, clock } = await setUp(t);
    clock.advance(24 * HOUR_MS);
    await thin(store, minutes(ROUNDS * 2));
    const { links, thinned } = await verify(store);
    assert.equal(links, 4, 'the newest of each chain, and the record of the thinning');
    assert.equal(thinned, ROUNDS * 2 + 1 - 1 + (1 + 1 - 1) + (4 - 1));
    await store.execute(register('bob', { licenseId: TWO }));
    await store.execute({ kind: 'sign_heads' });
    await verify(store);
  });

  test('reaches the last older link, past those that a wrong clock has dated ahead', async (t) => {
    const { store, clock } = await setUp(t);
    const jump = plus(minutes(ROUNDS), 48 * HOUR_MS);
    clock.setWall(jump);
    await store.keepClock();
    await store.execute({ kind: 'accept_clock', by: 'admin' });
    await store.execute(register('far', { licenseId: TWO }));
    clock.setWall(minutes(ROUNDS + 1));
    await store.execute({ kind: 'reset_clock', by: 'admin' });
    const listKept = async () => {
      const kept = await store.read({ kind: 'list_audit', chain: TWO, before: null, limit: 100 });
      return kept.map(({ at }) => at).reverse();
    };
    await store.execute(register('near', { licenseId: TWO }));
    await thin(store, minutes(ROUNDS + 1), TWO);
    assert.deepEqual(await listKept(), [jump, minutes(ROUNDS + 1)], 'nothing older has come after it');
    clock.advance(MINUTE_MS);
    await store.execute(register('next', { licenseId: TWO }));
    await thin(store, minutes(ROUNDS + 2), TWO);
    assert.deepEqual(await listKept(), [minutes(ROUNDS + 2)]);
    await verify(store);
  });

  test('is thinned out in commits of a bounded size', async (t) => {
    const { store, db, reopen } = await setUp(t);
    await store.close();
    writeManyLinks(db, THIN_LIMIT + 500);
    const again = reopen();
    assert.deepEqual(await thin(again, minutes(1), TWO), { kind: 'done', count: THIN_LIMIT });
    await verify(again);
    assert.deepEqual(await thin(again, minutes(1), TWO), { kind: 'done', count: 499 });
    assert.deepEqual(await thin(again, minutes(1), TWO), { kind: 'done', count: 0 });
    assert.equal((await verify(again)).thinned, THIN_LIMIT + 499);
  });

  test('is thinned out to its end, even past links that were dated ahead', async (t) => {
    const { store, db, reopen } = await setUp(t);
    await store.close();
    const isAhead = (n: number) => n > THIN_LIMIT - 100 && n <= THIN_LIMIT + 100;
    writeManyLinks(db, THIN_LIMIT + 500, (n) => (isAhead(n) ? minutes(60) : NOW));
    const again = reopen();
    const outcome = await createAuditTrail(again).thin({ before: minutes(1), chain: TWO }, 'root');
    assert.deepEqual(outcome, { kind: 'done', count: THIN_LIMIT + 499 });
    await verify(again);
  });

  test('is refused for a license that was never here', async (t) => {
    const { store } = await setUp(t);
    const outcome = await thin(store, minutes(11), licenseId(99));
    assert.equal(outcome.kind === 'refused' && outcome.code, 'license_not_found');
  });

  test('is refused if a link was changed, so that no total hides it', async (t) => {
    const { store, db } = await setUp(t);
    db.exec(`UPDATE audit_link SET events = replace(events, 'ada', 'eve') WHERE chain = 1 AND n = 8`);
    const outcome = await thin(store, minutes(11), ONE);
    assert.equal(outcome.kind === 'refused' && outcome.code, 'audit_not_whole');
    assert.deepEqual(await store.read({ kind: 'list_segments' }), []);
    await thin(store, minutes(3), ONE);
    assert.equal((await store.read({ kind: 'list_segments' }))[0]?.lastN, 5);
    db.exec('UPDATE audit_segment SET events = 1');
    assert.equal((await thin(store, minutes(4), ONE)).kind, 'refused', 'nor one that was changed itself');
  });
});

describe('totals', () => {
  test('show any change to them', async (t) => {
    const { store, db } = await setUp(t);
    await thin(store, minutes(5), ONE);
    db.exec('CREATE TEMP TABLE earlier AS SELECT * FROM audit_segment');
    db.exec('CREATE TEMP TABLE gone AS SELECT * FROM audit_link WHERE chain = 1 AND n BETWEEN 10 AND 21');
    await thin(store, minutes(11));
    const keys = { audit: loadAuditKey(db, masterKey), identity: loadIdentityKey(db, masterKey) };
    const isFound = (sql: string) => {
      db.exec('BEGIN');
      try {
        db.exec(sql);
        return !verifySnapshot(db, keys).ok;
      } finally {
        db.exec('ROLLBACK');
      }
    };
    assert.equal(isFound('SELECT 1'), false);
    for (const tampering of TAMPERINGS) assert.equal(isFound(tampering), true, tampering);
    const undone = `DELETE FROM audit_segment WHERE chain = 1;
      INSERT INTO audit_segment SELECT * FROM earlier;
      INSERT INTO audit_link SELECT * FROM gone`;
    assert.equal(isFound(undone), false, 'what was thinned out and is put back as it was is no lie');
  });
});

const NUMBERS = ['first_n', 'last_n', 'first_at', 'last_at', 'links', 'events'];

const TAMPERINGS: readonly string[] = [
  ...NUMBERS.flatMap((column) => [
    `UPDATE audit_segment SET ${column} = ${column} + 1 WHERE chain = 1`,
    `UPDATE audit_segment SET ${column} = 9223372036854775807 WHERE chain = 1`,
  ]),
  ...['first_mac', 'last_mac', 'mac'].map((column) => `UPDATE audit_segment SET ${column} = randomblob(32)`),
  `UPDATE audit_segment SET totals = replace(totals, '10', '9') WHERE chain = 1`,
  'DELETE FROM audit_segment WHERE chain = 1',
  'DELETE FROM audit_segment WHERE chain = 0',
  'UPDATE audit_segment SET chain = 99 WHERE chain = 1',
  'DELETE FROM audit_segment WHERE chain = 2; UPDATE audit_segment SET chain = 2 WHERE chain = 1',
  'DELETE FROM audit_segment WHERE chain = 1; INSERT INTO audit_segment SELECT * FROM earlier',
  'INSERT INTO audit_link SELECT * FROM gone WHERE n = 21',
  'UPDATE audit_link SET n = n - 1 WHERE chain = 1 AND n < 30',
  'DELETE FROM audit_link WHERE chain = 1; UPDATE license SET audit_n = 21, audit_mac = ' +
    '(SELECT last_mac FROM audit_segment WHERE chain = 1) WHERE id = 1',
  'DELETE FROM audit_link WHERE chain = 1; DELETE FROM audit_segment WHERE chain = 1; ' +
    "UPDATE license SET audit_n = 0, audit_mac = x'' WHERE id = 1",
];
