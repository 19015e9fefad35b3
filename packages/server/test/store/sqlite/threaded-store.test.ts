import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import '../../../../../test/support/program.ts';
import { Fault } from '../../../src/core/nouns/fault.ts';
import { fingerprint, type MasterKey } from '../../../src/secrets/seal.ts';
import { SCHEMA_VERSION } from '../../../src/store/engine/migrations.ts';
import { openThreadedStore } from '../../../src/store/sqlite/threaded-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { exampleLicense, LICENSE_ID, register, release } from '../../core/examples.ts';
import { grantedOf, users } from '../exam/exam-store.ts';
import { exerciseContention } from '../exam/exercise-store.ts';
import { expectSound } from '../exam/soundness.ts';

const masterKey = makeKey();

function makeKey(): MasterKey {
  return randomBytes(32) as Uint8Array as MasterKey;
}

/** A file in its own folder; what was opened is closed when the test ends, however it ends. */
async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-threads-'));
  const file = join(folder, 'berth.db');
  const stores: Store[] = [];
  t.after(async () => {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true });
  });
  const open = async (key = masterKey) => {
    const store = await openThreadedStore({ file, masterKey: key, onNotice: () => {} });
    stores.push(store);
    return store;
  };
  return { file, open };
}

async function install(store: Store, slots: number): Promise<void> {
  await store.execute({ kind: 'install_license', license: exampleLicense({ slots }), by: 'admin' });
}

async function countSlots(store: Store): Promise<number> {
  const scope = { licenseId: null, product: null, user: null };
  const page = await store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null });
  return page.registrations.length;
}

function isFault(error: unknown): boolean {
  return error instanceof Fault && error.code === 'store_unavailable';
}

exerciseContention('the SQLite store with its threads', ({ folder, onNotice }) =>
  openThreadedStore({ file: join(folder, 'berth.db'), masterKey, onNotice }),
);

describe('closing the store with its threads', () => {
  test('waits for all pending work', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 300);
    const asked = users(300).map((user) => store.execute(register(user)));
    await store.close();
    for (const outcome of await Promise.all(asked)) grantedOf(outcome);
    const again = await open();
    assert.equal(await countSlots(again), 300);
    await expectSound(again);
    await again.close();
  });

  test('waits for the writer: the file is released, and the next one finds it intact', async (t) => {
    const { file, open } = await setUp(t);
    for (const version of ['1', '2', '3', '4', '5']) {
      const store = await open();
      await store.execute({ kind: 'record_event', event: { kind: 'server_started', version } });
      await store.close();
      assert.equal(existsSync(`${file}-wal`), false);
    }
    const store = await open();
    const { links } = await store.read({ kind: 'verify_audit' });
    assert.equal(links, 5);
    await expectSound(store);
    await store.close();
  });

  test('cancels a verification, and those waiting for the next one', async (t) => {
    const { file, open } = await setUp(t);
    const store = await open();
    await install(store, 5);
    const asked = [1, 2, 3].map(() => store.read({ kind: 'verify_audit' }));
    const broken = asked.map((verdict) => assert.rejects(verdict, isFault));
    await store.close();
    await Promise.all(broken);
    assert.equal(existsSync(`${file}-wal`), false);
  });

  test('leaves nobody waiting: later calls are refused at once', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await store.close();
    await assert.rejects(store.execute(register('ada')), isFault);
    await assert.rejects(store.read({ kind: 'verify_audit' }), isFault);
    await assert.rejects(store.keepClock(), isFault);
    await store.close();
  });
});

describe('the two threads', () => {
  test('agree: a query sees every command that was answered before it', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 200);
    for (const [index, user] of users(200).entries()) {
      await store.execute(register(user));
      assert.equal(await countSlots(store), index + 1);
    }
    await store.close();
  });

  test('verify the audit while it grows', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 5000);
    let isDone = false;
    const writing = (async () => {
      for (let wave = 0; wave < 40; wave++) {
        await Promise.all(users(20, `wave-${wave}`).map((user) => store.execute(register(user))));
      }
      isDone = true;
    })();
    while (!isDone) {
      const verdict = await store.read({ kind: 'verify_audit' });
      assert.deepEqual(verdict.problems, []);
    }
    await writing;
    await store.close();
  });

  test('answer other queries while the audit log is verified', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 10_000);
    await Promise.all(users(10_000).map((user) => store.execute(register(user))));
    let isVerified = false;
    const verifying = store.read({ kind: 'verify_audit' }).finally(() => {
      isVerified = true;
    });
    const token = { kind: 'find_token', tokenHash: 'nobody has it' } as const;
    let answers = 0;
    do {
      assert.equal(await store.read(token), null);
      answers += 1;
    } while (!isVerified);
    assert.ok(answers > 1, 'the question has waited for the verification');
    assert.deepEqual((await verifying).problems, []);
    await store.close();
  });

  test('verify for each caller what was recorded before the call', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 5);
    const verify = () => store.read({ kind: 'verify_audit' });
    const first = verify();
    await store.execute(register('ada'));
    const [second, third] = [verify(), verify()];
    await first;
    assert.deepEqual([(await second).links, (await third).links], [2, 2]);
    assert.equal(await second, await third, 'one verification is enough for both');
    await store.close();
  });

  test('let a command that throws fail alone', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 5);
    await store.execute(register('held'));
    const bad = release({ name: 'held' } as unknown as string);
    const [one, failed, two] = await Promise.allSettled([
      store.execute(register('ada')),
      store.execute(bad),
      store.execute(register('bob')),
    ]);
    assert.deepEqual([one.status, failed.status, two.status], ['fulfilled', 'rejected', 'fulfilled']);
    assert.equal(store.isHealthy(), true);
    assert.equal(await countSlots(store), 3);
    await store.close();
  });

  test('survive a command that cannot be sent between them', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 5);
    await assert.rejects(store.execute(register(1n as unknown as string)), /BigInt/);
    assert.equal(grantedOf(await store.execute(register('ada'))).inUse, 1);
    await store.close();
  });

  test('share the license: it arrives complete, and again when it has changed', async (t) => {
    const { open } = await setUp(t);
    const store = await open();
    await install(store, 5);
    assert.deepEqual(grantedOf(await store.execute(register('ada'))).license, exampleLicense({ slots: 5 }));
    await install(store, 6);
    assert.deepEqual(grantedOf(await store.execute(register('ada'))).license, exampleLicense({ slots: 6 }));
    await store.close();
  });
});

describe('the store with its threads does not open', () => {
  test('with another master key, and says which one it needs', async (t) => {
    const { open } = await setUp(t);
    await (await open()).close();
    const other = makeKey();
    await assert.rejects(open(other), (error) => {
      assert.ok(isFault(error));
      assert.match(String(error), new RegExp(fingerprint(other)));
      assert.match(String(error), new RegExp(fingerprint(masterKey)));
      return true;
    });
    const store = await open();
    assert.equal((await store.read({ kind: 'describe_store' })).schemaVersion, SCHEMA_VERSION);
    await store.close();
  });

  test('on data of a newer release, and says what to do', async (t) => {
    const { file, open } = await setUp(t);
    const store = await open();
    await install(store, 1);
    await store.execute(register('ada', { licenseId: LICENSE_ID }));
    await store.close();
    const db = new DatabaseSync(file);
    db.exec('PRAGMA user_version = 99');
    db.close();
    await assert.rejects(open(), /written by a newer Berth \(schema 99.+Start the newer version/);
  });

  test('in a folder that does not exist', async (t) => {
    const { file } = await setUp(t);
    const nowhere = join(file, 'nowhere', 'berth.db');
    await assert.rejects(openThreadedStore({ file: nowhere, masterKey, onNotice: () => {} }), isFault);
  });
});
