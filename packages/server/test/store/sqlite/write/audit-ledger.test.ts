import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import type { StoreNotice } from '../../../../src/core/nouns/store-notice.ts';
import { makeMasterKey } from '../../../../src/secrets/master-key.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { exampleLicense, NOW, register } from '../../../core/examples.ts';

const masterKey = makeMasterKey();

function open(file: string) {
  const notices: StoreNotice[] = [];
  const onNotice = (notice: StoreNotice) => notices.push(notice);
  return { notices, store: openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice }) };
}

/** A closed store that holds a license, a slot that is lent, and a log of both. */
async function writeHistory(t: TestContext): Promise<string> {
  const file = join(temporaryFolder(t), 'berth.db');
  const { store } = open(file);
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots: 9 }), by: 'admin' });
  await store.execute(register('ada'));
  await store.execute({ kind: 'sign_heads' });
  await store.close();
  return file;
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

const WIPE = `
  DELETE FROM audit_link; DELETE FROM audit_segment;
  UPDATE license SET audit_n = 0, audit_mac = x'';
  UPDATE server SET audit_n = 0, audit_mac = x'', audit_anchor = NULL, audit_signed_links = NULL;
  DELETE FROM sealed_secret WHERE name = 'audit_key';`;

const WIPED: Readonly<Record<string, string>> = {
  'with its key': WIPE,
  'with every key': `${WIPE} DELETE FROM sealed_secret`,
  'with every key and the time': `${WIPE} DELETE FROM sealed_secret; UPDATE server SET mark = NULL`,
  'with everything but the identity key': `${WIPE}
    DELETE FROM license; DELETE FROM registration; UPDATE server SET mark = NULL`,
  'with everything but the time': `${WIPE}
    DELETE FROM license; DELETE FROM registration; DELETE FROM sealed_secret`,
  'with everything but who holds a slot': `${WIPE}
    DELETE FROM license; DELETE FROM sealed_secret; UPDATE server SET mark = NULL`,
};

describe('a log that was wiped', () => {
  for (const [title, sql] of Object.entries(WIPED)) {
    test(`${title} is never intact again`, async (t) => {
      const file = await writeHistory(t);
      change(file, sql);
      for (const _ of ['at once', 'and at the next start']) {
        const { store, notices } = open(file);
        const event = { kind: 'server_started', version: '1' } as const;
        await store.execute({ kind: 'record_event', event });
        await store.execute({ kind: 'sign_heads' });
        const { ok, problems } = await store.read({ kind: 'verify_audit' });
        await store.close();
        assert.equal(ok, false);
        assert.deepEqual(problems.at(-1), {
          chain: null,
          n: 0,
          problem: 'The anchor of the chains is missing.',
        });
        assert.deepEqual(notices.map(({ kind }) => kind).slice(0, 2), ['pages_changed', 'anchor_lost']);
      }
    });
  }

  test('does not stop the server from lending', async (t) => {
    const file = await writeHistory(t);
    change(file, WIPE);
    const { store } = open(file);
    assert.equal((await store.execute(register('bob'))).kind, 'granted');
    await store.close();
  });
});

describe('a store that was created and never used', () => {
  test('is anchored though its keys do not exist yet', async (t) => {
    const file = join(temporaryFolder(t), 'berth.db');
    await open(file).store.close();
    change(file, 'DELETE FROM sealed_secret; UPDATE server SET mark = NULL, audit_anchor = NULL');
    const { store, notices } = open(file);
    assert.equal((await store.read({ kind: 'verify_audit' })).ok, true);
    assert.deepEqual(notices, []);
    await store.close();
  });
});
