import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { exampleLicense, LICENSE_ID, NOW, register, unregister } from '../../core/examples.ts';
import type { MasterKey } from '../../secrets/seal.ts';
import { createManualClock } from '../clock.ts';
import type { AuditVerdict } from '../query.ts';
import { openInThreadStore } from './in-thread-store.ts';

const masterKey = randomBytes(32) as Uint8Array as MasterKey;

/** A closed store with six links on the license's chain and two on the system's. */
async function writeHistory(file: string): Promise<void> {
  const clock = createManualClock(NOW);
  const store = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
  await store.execute({ kind: 'install_license', license: exampleLicense(), by: 'admin' });
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

async function verify(file: string): Promise<AuditVerdict> {
  const store = openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice: () => {} });
  try {
    return await store.read({ kind: 'verify_audit' });
  } finally {
    await store.close();
  }
}

/** What the verification says of a history into which somebody has reached with SQL. */
async function verifyAfter(tamper: (db: DatabaseSync) => void): Promise<AuditVerdict> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-audit-'));
  try {
    const file = join(folder, 'berth.db');
    await writeHistory(file);
    const db = new DatabaseSync(file);
    tamper(db);
    db.close();
    return await verify(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(sql: string): (db: DatabaseSync) => void {
  return (db) => db.exec(sql.replaceAll(':chain', String(LICENSE_ID)));
}

/** Exchanges what two links say, each with its own MAC, and leaves their numbers in order. */
const SWAP = `
  UPDATE audit_link SET n = 100 WHERE chain = :chain AND n = 2;
  UPDATE audit_link SET n = 2 WHERE chain = :chain AND n = 3;
  UPDATE audit_link SET n = 3 WHERE chain = :chain AND n = 100`;

/** Makes room between two links and puts a copy of the first into it. */
const INSERT = `
  UPDATE audit_link SET n = n + 100 WHERE chain = :chain AND n > 2;
  INSERT INTO audit_link (chain, n, at, events, mac)
    SELECT chain, 3, at, events, mac FROM audit_link WHERE chain = :chain AND n = 2;
  UPDATE audit_link SET n = n - 99 WHERE chain = :chain AND n > 100;
  UPDATE license SET audit_n = audit_n + 1`;

describe('the audit', () => {
  test('verifies as it was written', async () => {
    const verdict = await verifyAfter(() => {});
    assert.deepEqual(verdict, { ok: true, chains: 2, links: 8, events: 8, problems: [] });
  });

  const found: [string, string, number][] = [
    ['an edited event', `UPDATE audit_link SET events = replace(events, 'bob', 'bib') WHERE n = 3`, 3],
    ['an edited time', 'UPDATE audit_link SET at = at + 1 WHERE chain = :chain AND n = 4', 4],
    ['an edited MAC', "UPDATE audit_link SET mac = x'00' WHERE chain = :chain AND n = 4", 4],
    ['events that are no JSON', "UPDATE audit_link SET events = 'x' WHERE chain = :chain AND n = 4", 4],
    ['a deleted link', 'DELETE FROM audit_link WHERE chain = :chain AND n = 3', 4],
    ['a deleted first link', 'DELETE FROM audit_link WHERE chain = :chain AND n = 1', 2],
    ['two links that were swapped', SWAP, 2],
    ['a link that was put in', INSERT, 3],
    ['a cut tail', 'DELETE FROM audit_link WHERE chain = :chain AND n > 4', 6],
    ['a chain that is gone', 'DELETE FROM audit_link WHERE chain = :chain', 6],
    ['a head that was set back', 'UPDATE license SET audit_n = audit_n - 1', 5],
  ];
  for (const [title, sql, n] of found) {
    test(`finds ${title}, and where`, async () => {
      const { ok, problems } = await verifyAfter(run(sql));
      assert.equal(ok, false);
      assert.deepEqual([problems[0]?.chain, problems[0]?.n], [LICENSE_ID, n]);
      assert.match(problems[0]?.problem ?? '', /^.+\.$/);
    });
  }

  test('finds a link that was moved to another chain', async () => {
    const { problems } = await verifyAfter(
      run('UPDATE audit_link SET chain = 0, n = 3 WHERE chain = :chain AND n = 6'),
    );
    assert.deepEqual(new Set(problems.map(({ chain }) => chain)), new Set([0, LICENSE_ID]));
  });

  test('finds links of a license that is not there', async () => {
    const { problems } = await verifyAfter(run('DELETE FROM license'));
    assert.deepEqual(
      problems.map(({ chain, n }) => [chain, n]),
      [[LICENSE_ID, 0]],
    );
  });

  test('names no more than a hundred problems', async () => {
    const flood = `
      WITH RECURSIVE many(n) AS (SELECT 1000 UNION ALL SELECT n + 2 FROM many WHERE n < 2000)
      INSERT INTO audit_link (chain, n, at, events, mac) SELECT :chain, n, 0, '[]', x'' FROM many`;
    assert.equal((await verifyAfter(run(flood))).problems.length, 100);
  });
});
