import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { temporaryFolder } from '../../../../../../test/support/server-process.ts';
import type { CloudKeys, RotateMasterKey, SetCloudKeys } from '../../../../src/core/system-command.ts';
import { makeMasterKey } from '../../../../src/secrets/master-key.ts';
import { fingerprint, fingerprintOfSeal, type MasterKey, seal } from '../../../../src/secrets/seal.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { openInThreadStore } from '../../../../src/store/sqlite/in-thread-store.ts';
import { openThreadedStore } from '../../../../src/store/sqlite/threaded-store.ts';
import { SqliteWriter } from '../../../../src/store/sqlite/write/writer.ts';
import type { Store } from '../../../../src/store/store.ts';
import { NOW } from '../../../core/examples.ts';

type OpenStore = (file: string, masterKey: MasterKey) => Promise<Store>;

const STORES: Readonly<Record<string, OpenStore>> = {
  'the store in one thread': async (file, masterKey) =>
    openInThreadStore({ file, masterKey, clock: createManualClock(NOW), onNotice: () => {} }),
  'the store with its threads': (file, masterKey) =>
    openThreadedStore({ file, masterKey, onNotice: () => {} }),
};

function setKeys(keys: CloudKeys): SetCloudKeys {
  return { kind: 'set_cloud_keys', ...keys, fingerprints: { apiKey: 'a', sharedKey: 's' }, by: 'test' };
}

function rotateTo(newKey: MasterKey): RotateMasterKey {
  return { kind: 'rotate_master_key', newKey, newFingerprint: fingerprint(newKey), by: 'test' };
}

const findKeys = (store: Store) => store.read({ kind: 'find_cloud_keys' });

async function setUp(t: TestContext, open: OpenStore) {
  const file = join(temporaryFolder(t), 'berth.db');
  const masterKey = makeMasterKey();
  const store = await open(file, masterKey);
  let isOpen = true;
  const close = async () => {
    if (isOpen) await store.close();
    isOpen = false;
  };
  t.after(close);
  return { file, masterKey, store, close };
}

function listSealed(file: string) {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('SELECT name, sealed FROM sealed_secret ORDER BY name').all();
  db.close();
  return rows.map(({ name, sealed }) => ({ name, sealed: sealed as Uint8Array }));
}

for (const [title, open] of Object.entries(STORES)) {
  describe(`secrets in ${title}`, () => {
    test('are stored one by one or together, and read back unchanged', async (t) => {
      const { store } = await setUp(t, open);
      assert.deepEqual(await findKeys(store), { apiKey: null, sharedKey: null });
      await store.execute(setKeys({ apiKey: null, sharedKey: 'ключ' }));
      assert.deepEqual(await findKeys(store), { apiKey: null, sharedKey: 'ключ' });
      await store.execute(setKeys({ apiKey: 'a&b', sharedKey: null }));
      assert.deepEqual(await findKeys(store), { apiKey: 'a&b', sharedKey: 'ключ' });
    });

    test('set by many callers at once are a pair of one of them', async (t) => {
      const { store } = await setUp(t, open);
      for (let round = 0; round < 10; round++) {
        const pairs = ['x', 'y', 'z'].map((who) => ({
          apiKey: `${who}${round}`,
          sharedKey: `${who}${round}`,
        }));
        await Promise.all(pairs.map((pair) => store.execute(setKeys(pair))));
        const { apiKey, sharedKey } = await findKeys(store);
        assert.equal(apiKey, sharedKey);
      }
    });

    test('are all sealed with the new master key, and the store continues', async (t) => {
      const { store, file, masterKey } = await setUp(t, open);
      await store.execute(setKeys({ apiKey: 'one', sharedKey: 'two' }));
      const ada = { name: 'ada', role: 'admin', passwordHash: 'h', oneTime: false } as const;
      await store.execute({ kind: 'create_account', ...ada, by: 'test' });
      const factor = { account: 'ada', secret: 'three', usedStep: 1, recoveryCodes: [] } as const;
      const owner = { checkedHash: 'h', keptToken: null, by: 'ada' } as const;
      await store.execute({ kind: 'set_second_factor', ...factor, ...owner });
      const before = listSealed(file);
      const newKey = makeMasterKey();
      assert.deepEqual(await store.execute(rotateTo(newKey)), { kind: 'done', count: 1 });
      const after = listSealed(file);
      assert.deepEqual(
        after.map(({ name }) => name),
        ['audit_key', 'cloud_api_key', 'cloud_shared_key', 'identity_key', 'second_factor:ada'],
      );
      for (const { sealed } of before) assert.equal(fingerprintOfSeal(sealed), fingerprint(masterKey));
      for (const { sealed } of after) assert.equal(fingerprintOfSeal(sealed), fingerprint(newKey));
      assert.deepEqual(await findKeys(store), { apiKey: 'one', sharedKey: 'two' });
      assert.equal(await store.read({ kind: 'find_second_factor', account: 'ada' }), 'three');
      assert.equal((await store.read({ kind: 'verify_audit' })).ok, true);
      assert.deepEqual(await store.read({ kind: 'describe_seal' }), { sealedBy: fingerprint(newKey) });
      await store.execute(setKeys({ apiKey: 'three', sharedKey: null }));
      assert.deepEqual(await findKeys(store), { apiKey: 'three', sharedKey: 'two' });
    });

    test('are read and set while the master key changes', async (t) => {
      const { store, file } = await setUp(t, open);
      await store.execute(setKeys({ apiKey: '0', sharedKey: '0' }));
      const keys = Array.from({ length: 5 }, makeMasterKey);
      for (const [index, key] of keys.entries()) {
        const value = String(index);
        const work = [
          store.execute(setKeys({ apiKey: value, sharedKey: value })),
          store.execute(rotateTo(key)),
          store.execute(setKeys({ apiKey: value, sharedKey: value })),
        ];
        const questions = Array.from({ length: 20 }, async () => {
          const { apiKey, sharedKey } = await findKeys(store);
          assert.equal(apiKey, sharedKey);
          assert.equal((await store.read({ kind: 'verify_audit' })).ok, true);
        });
        await Promise.all([...work, ...questions]);
      }
      const last = fingerprint(keys.at(-1) as MasterKey);
      for (const { sealed } of listSealed(file)) assert.equal(fingerprintOfSeal(sealed), last);
    });

    test('open with the new key after a restart, and no longer with the old one', async (t) => {
      const { store, file, masterKey, close } = await setUp(t, open);
      await store.execute(setKeys({ apiKey: 'one', sharedKey: null }));
      const newKey = makeMasterKey();
      await store.execute(rotateTo(newKey));
      await close();
      await assert.rejects(open(file, masterKey), (error: Error) =>
        [masterKey, newKey].every((key) => error.message.includes(fingerprint(key))),
      );
      const again = await open(file, newKey);
      assert.deepEqual(await findKeys(again), { apiKey: 'one', sharedKey: null });
      await again.close();
    });
  });
}

describe('a command that fails', () => {
  test('leaves the master key unchanged, for itself and for later ones', async (t) => {
    const { store, file, masterKey, close } = await setUp(t, STORES['the store in one thread'] as OpenStore);
    await store.execute(setKeys({ apiKey: 'one', sharedKey: 'two' }));
    await close();
    // A secret that opens with no key stops a rotation in its middle.
    const db = new DatabaseSync(file);
    const foreign = seal(makeMasterKey(), 'zzz', Buffer.from('x'));
    db.prepare("INSERT INTO sealed_secret (name, sealed) VALUES ('zzz', ?)").run(foreign);
    db.close();
    const writer = new SqliteWriter({ file, masterKey, clock: createManualClock(NOW) });
    const { results } = writer.executeBatch([
      rotateTo(makeMasterKey()),
      setKeys({ apiKey: 'three', sharedKey: null }),
    ]);
    assert.deepEqual(
      results.map((result) => Object.keys(result)[0]),
      ['error', 'outcome'],
    );
    assert.deepEqual(writer.masterKeys, [masterKey]);
    writer.close();
    const sealed = listSealed(file).filter(({ name }) => name !== 'zzz');
    for (const one of sealed) assert.equal(fingerprintOfSeal(one.sealed), fingerprint(masterKey));
  });

  test('at its very end, in a batch, leaves the others unaffected', async (t) => {
    const file = join(temporaryFolder(t), 'berth.db');
    const writer = new SqliteWriter({ file, masterKey: makeMasterKey(), clock: createManualClock(NOW) });
    const last = makeMasterKey();
    const batch = [
      setKeys({ apiKey: 'one', sharedKey: 'two' }),
      rotateTo(makeMasterKey()),
      // Its event has no text, which is found when everything is sealed again.
      { ...rotateTo(makeMasterKey()), by: 1n as never },
      setKeys({ apiKey: 'three', sharedKey: null }),
      rotateTo(last),
    ];
    const kinds = writer.executeBatch(batch).results.map((result) => Object.keys(result)[0]);
    assert.deepEqual(kinds, ['outcome', 'outcome', 'error', 'outcome', 'outcome']);
    writer.close();
    const store = openInThreadStore({ file, masterKey: last, clock: createManualClock(NOW), onNotice() {} });
    assert.deepEqual(await findKeys(store), { apiKey: 'three', sharedKey: 'two' });
    await store.close();
  });
});
