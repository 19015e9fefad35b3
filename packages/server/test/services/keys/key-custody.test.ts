import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs, { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { Fault } from '../../../src/core/nouns/fault.ts';
import { openExport } from '../../../src/secrets/key-export.ts';
import { type MasterKeySource, makeMasterKey, writeKeyFile } from '../../../src/secrets/master-key.ts';
import { fingerprint, type MasterKey } from '../../../src/secrets/seal.ts';
import { createCredentials } from '../../../src/services/cloud/credentials.ts';
import { createKeyCustody } from '../../../src/services/keys/key-custody.ts';
import { placeMasterKey } from '../../../src/services/keys/place-master-key.ts';
import { createManualClock } from '../../../src/store/clock.ts';
import { findSealedBy, openDataFolder } from '../../../src/store/sqlite/data-folder.ts';
import { openInThreadStore } from '../../../src/store/sqlite/in-thread-store.ts';
import type { Store } from '../../../src/store/store.ts';

const KEYS = { apiKey: 'api key', sharedKey: 'shared key' };
const FROM_FILE = { value: null, file: null };
const PASSPHRASE = 'a passphrase that is long';

const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');

async function openFolder(
  folder: string,
  masterKey: { value: string | null; file: string | null } = FROM_FILE,
) {
  const store = await openDataFolder({ folder, masterKey, onNotice: () => {}, useThreads: false });
  assert.ok(store !== null);
  return store;
}

function place(folder: string, source: MasterKeySource, key: MasterKey): Promise<void> {
  return placeMasterKey({ folder, source, key, findSealedBy: async () => findSealedBy(folder) });
}

/** Opens the folder, reads everything that is sealed in it, and closes it again. */
async function expectWhole(folder: string, masterKey?: { value: string | null; file: string | null }) {
  const store = await openFolder(folder, masterKey);
  try {
    assert.deepEqual(await createCredentials(store).readKeys(), KEYS);
    assert.equal((await store.read({ kind: 'verify_audit' })).ok, true);
    return (await store.read({ kind: 'describe_seal' })).sealedBy;
  } finally {
    await store.close();
  }
}

async function setUp(t: TestContext) {
  const made = await openTestStore(t);
  await createCredentials(made.store).setKeys(KEYS, 'test');
  return { ...made, custody: createKeyCustody(made.store, made.keySource) };
}

/** The folder as a crash leaves it now. */
function crash(t: TestContext, folder: string): string {
  const copy = join(temporaryFolder(t), 'data');
  cpSync(folder, copy, { recursive: true });
  return copy;
}

describe('a rotation', () => {
  test('replaces the file, is audited, and leaves nothing behind', async (t) => {
    const { custody, folder, store, keySource } = await setUp(t);
    const before = await custody.describe();
    assert.deepEqual(before, { fingerprint: before.fingerprint, source: 'file', file: keySource.file });
    const rotated = await custody.rotate(null, 'ada');
    assert.equal(rotated.replaced, before.fingerprint);
    assert.notEqual(rotated.fingerprint, before.fingerprint);
    assert.deepEqual(await custody.describe(), { ...before, fingerprint: rotated.fingerprint });
    assert.deepEqual((await readEvents(store)).at(-1), {
      kind: 'master_key_rotated',
      from: before.fingerprint,
      to: rotated.fingerprint,
      by: 'ada',
    });
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('master')),
      ['master.key'],
    );
    assert.equal(await expectWhole(crash(t, folder)), rotated.fingerprint);
  });

  test('takes a given key, in hex or base64, but not the one in use', async (t) => {
    const { custody, keySource } = await setUp(t);
    const [one, two] = [makeMasterKey(), makeMasterKey()];
    assert.equal((await custody.rotate(hex(one), 'ada')).fingerprint, fingerprint(one));
    assert.equal(readFileSync(keySource.file, 'utf8').trim(), hex(one));
    const base64 = Buffer.from(two).toString('base64');
    assert.equal((await custody.rotate(base64, 'ada')).fingerprint, fingerprint(two));
    for (const wrong of [base64, 'planted', hex(one).slice(2)]) {
      await assert.rejects(custody.rotate(wrong, 'ada'), (error: RequestError) => {
        assert.ok(error instanceof RequestError);
        assert.equal(error.code, 'validation_error');
        return !error.message.includes(wrong);
      });
    }
    assert.equal((await custody.describe()).fingerprint, fingerprint(two));
  });

  test('runs once at a time, however many are requested', async (t) => {
    const { custody, folder } = await setUp(t);
    const rotated = await Promise.all(Array.from({ length: 5 }, () => custody.rotate(null, 'ada')));
    const chain = rotated.map(({ replaced }) => replaced).slice(1);
    assert.deepEqual(
      rotated.map(({ fingerprint: one }) => one).slice(0, -1),
      chain,
      'each replaces the one before',
    );
    assert.equal(await expectWhole(crash(t, folder)), rotated.at(-1)?.fingerprint);
  });

  test('changes nothing if the new key cannot be written', async (t) => {
    const { custody, folder, store } = await setUp(t);
    const before = await custody.describe();
    mkdirSync(join(folder, 'master.key.next.new'));
    const isClear = (error: unknown) =>
      error instanceof Fault &&
      /cannot be written next to .*master\.key: .*Nothing was changed/.test(error.message);
    await assert.rejects(custody.rotate(null, 'ada'), isClear);
    assert.deepEqual(await custody.describe(), before);
    assert.equal((await readEvents(store)).at(-1)?.kind, 'cloud_keys_set');
    rmSync(join(folder, 'master.key.next.new'), { recursive: true });
    assert.equal(await expectWhole(crash(t, folder)), before.fingerprint);
  });

  test('touches nothing as long as the name of the last key has not reached the disk', async (t) => {
    const { custody, folder, keySource } = await setUp(t);
    const listKeys = () => readdirSync(folder).filter((name) => name.startsWith('master'));
    const before = readFileSync(keySource.file, 'utf8');
    const isReplaced = () => readFileSync(keySource.file, 'utf8') !== before;
    const { fsyncSync } = fs;
    const failing = t.mock.method(fs, 'fsyncSync', (handle: number) => {
      if (isReplaced()) throw new Error('the disk fails');
      fsyncSync(handle);
    });
    syncBuiltinESMExports();
    t.after(() => {
      failing.mock.restore();
      syncBuiltinESMExports();
    });
    await assert.rejects(custody.rotate(null, 'ada'), /cannot be replaced: the disk fails/);
    await assert.rejects(custody.rotate(null, 'ada'), /the disk fails. Nothing was changed/);
    assert.deepEqual(listKeys(), ['master.key']);
    failing.mock.restore();
    syncBuiltinESMExports();
    const { fingerprint: last } = await custody.rotate(null, 'ada');
    assert.equal(await expectWhole(crash(t, folder)), last);
  });

  test('of a key in the environment needs the new one, and continues with it', async (t) => {
    const { folder, store, keySource } = await setUp(t);
    const value = readFileSync(keySource.file, 'utf8');
    rmSync(keySource.file);
    const custody = createKeyCustody(store, { ...keySource, value });
    assert.equal((await custody.describe()).source, 'environment');
    await assert.rejects(
      custody.rotate(null, 'ada'),
      (error: RequestError) => error.code === 'missing_parameters' && /--new-key/.test(error.message),
    );
    const newKey = makeMasterKey();
    const rotated = await custody.rotate(hex(newKey), 'ada');
    assert.deepEqual([rotated.source, rotated.file], ['environment', null]);
    assert.ok(!existsSync(keySource.file) && !existsSync(`${keySource.file}.next`), 'no file of ours');
    const sealed = await custody.export(PASSPHRASE, 'ada');
    const { masterKey } = await openExport(JSON.stringify(sealed), PASSPHRASE);
    assert.deepEqual(masterKey, newKey, 'the key in force, not the one that the environment still has');
    const copy = crash(t, folder);
    await assert.rejects(openFolder(copy, { value, file: null }), new RegExp(fingerprint(newKey)));
    assert.equal(await expectWhole(copy, { value: hex(newKey), file: null }), fingerprint(newKey));
  });
});

describe('an interrupted rotation', () => {
  function stagedIn(folder: string, key: MasterKey): void {
    writeKeyFile(join(folder, 'master.key.next'), key);
  }

  const listKeys = (folder: string) => readdirSync(folder).filter((name) => name.startsWith('master'));

  test('while the new key is written: the old one counts', async (t) => {
    const { custody, folder } = await setUp(t);
    const { fingerprint: current } = await custody.describe();
    for (const [name, text] of [
      ['master.key.next.new', 'abc'],
      ['master.key.next', ''],
      ['master.key.next', hex(makeMasterKey()).slice(1)],
    ] as const) {
      const copy = crash(t, folder);
      writeFileSync(join(copy, name), text);
      assert.equal(await expectWhole(copy), current);
      assert.ok(!existsSync(join(copy, 'master.key.next')));
    }
  });

  test('before the commit: the old one counts, and the new one is removed', async (t) => {
    const { custody, folder } = await setUp(t);
    const { fingerprint: current } = await custody.describe();
    const copy = crash(t, folder);
    stagedIn(copy, makeMasterKey());
    assert.equal(await expectWhole(copy), current);
    assert.deepEqual(listKeys(copy), ['master.key']);
    assert.equal(await expectWhole(copy), current, 'and so it stays');
  });

  test('after the commit: the new one counts, and replaces it', async (t) => {
    const { folder, store } = await setUp(t);
    const newKey = makeMasterKey();
    const command = { kind: 'rotate_master_key', newKey, by: 'test' } as const;
    await store.execute({ ...command, newFingerprint: fingerprint(newKey) });
    const copy = crash(t, folder);
    await assert.rejects(openFolder(crash(t, folder)), new RegExp(fingerprint(newKey)), 'not without it');
    stagedIn(copy, newKey);
    assert.equal(await expectWhole(copy), fingerprint(newKey));
    assert.deepEqual(listKeys(copy), ['master.key']);
    assert.equal(readFileSync(join(copy, 'master.key'), 'utf8').trim(), hex(newKey));
    assert.equal(await expectWhole(copy), fingerprint(newKey), 'and so it stays');
  });

  test('left by a server that keeps running is settled by the next one', async (t) => {
    const { custody, folder } = await setUp(t);
    stagedIn(folder, makeMasterKey());
    const rotated = await custody.rotate(null, 'ada');
    assert.deepEqual(listKeys(folder), ['master.key']);
    assert.equal(await expectWhole(crash(t, folder)), rotated.fingerprint);
  });

  test('with a configured file, as with the default one', async (t) => {
    const { folder, store, keySource } = await setUp(t);
    const file = join(temporaryFolder(t), 'key');
    cpSync(keySource.file, file);
    rmSync(keySource.file);
    const { fingerprint: to } = await createKeyCustody(store, { value: null, file }).rotate(null, 'ada');
    assert.ok(!existsSync(keySource.file));
    const copy = crash(t, folder);
    assert.equal(await expectWhole(copy, { value: null, file }), to);
    writeKeyFile(`${file}.next`, makeMasterKey());
    assert.equal(await expectWhole(copy, { value: null, file }), to);
    assert.ok(!existsSync(`${file}.next`));
  });
});

/** A disk that takes no more: the operating system lets this process write no file beyond a size. */
function limitFileSize(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
}

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;
const skip = hasPrlimit ? false : 'optional: it takes the prlimit of Linux to make writing fail';

describe('a rotation on a disk that fails', { skip }, () => {
  test('leaves a store that opens, wherever it stops', async (t) => {
    const folder = join(temporaryFolder(t), 'data');
    mkdirSync(folder);
    const source = { value: null, file: join(folder, 'master.key') };
    const masterKey = makeMasterKey();
    writeKeyFile(source.file, masterKey);
    const clock = createManualClock(1_900_000_000_000 as never);
    const file = join(folder, 'berth.db');
    const store: Store = openInThreadStore({ file, masterKey, clock, onNotice: () => {} });
    t.after(() => limitFileSize('unlimited'));
    t.after(() => store.close());
    await createCredentials(store).setKeys(KEYS, 'test');
    const custody = createKeyCustody(store, source);
    let [failures, successes] = [0, 0];
    for (const bytes of [0, 24, 66, 4120, 8240, 10_000, 12_360, 16_480, 20_600, 24_720, 40_000, 1_000_000]) {
      limitFileSize(bytes);
      await custody.rotate(null, 'ada').then(
        () => successes++,
        (error) => {
          assert.ok(error instanceof Fault, String(error));
          failures++;
        },
      );
      limitFileSize('unlimited');
      const opened = await expectWhole(crash(t, folder));
      clock.advance(2000);
      await store.keepClock();
      assert.equal((await custody.describe()).fingerprint, opened, 'the running server agrees');
      assert.deepEqual(await createCredentials(store).readKeys(), KEYS);
    }
    assert.ok(failures > 1 && successes > 1, `${failures} failures, ${successes} successes`);
  });
});

describe('an export', () => {
  test('restores a store whose key is lost, and is audited', async (t) => {
    const { custody, folder, store } = await setUp(t);
    const { fingerprint: current } = await custody.describe();
    const text = JSON.stringify(await custody.export(PASSPHRASE, 'ada'));
    const event = { kind: 'master_key_exported', fingerprint: current, by: 'ada' };
    assert.deepEqual((await readEvents(store)).at(-1), event);
    const { identity } = await store.read({ kind: 'describe_store' });
    const copy = crash(t, folder);
    const source = { value: null, file: join(copy, 'master.key') };
    rmSync(source.file);
    await assert.rejects(openFolder(copy), /is missing/);
    const opened = await openExport(text, PASSPHRASE);
    assert.equal(opened.identity, identity);
    await place(copy, source, opened.masterKey);
    assert.equal(await expectWhole(copy), current);
    await place(copy, source, opened.masterKey);
    assert.equal(await expectWhole(copy), current, 'twice does no harm');
  });

  test('needs a sufficiently long passphrase', async (t) => {
    const { custody } = await setUp(t);
    await assert.rejects(
      custody.export('elevenchars', 'ada'),
      (error: RequestError) => error.code === 'validation_error' && !error.message.includes('elevenchars'),
    );
  });

  test('cannot be made of a key that was removed', async (t) => {
    const { custody, keySource } = await setUp(t);
    rmSync(keySource.file);
    await assert.rejects(custody.export(PASSPHRASE, 'ada'), /is no longer at .*master\.key/);
  });

  test('replaces no other key, and is not installed beside the environment', async (t) => {
    const { folder, keySource } = await setUp(t);
    const stopped = crash(t, folder);
    const source = { value: null, file: join(stopped, 'master.key') };
    const other = makeMasterKey();
    const present = readFileSync(source.file, 'utf8');
    await assert.rejects(() => place(stopped, source, other), new RegExp(fingerprint(other)));
    rmSync(source.file);
    await assert.rejects(() => place(stopped, source, other), /but the store needs [0-9a-f]{16}/);
    assert.ok(!existsSync(source.file));
    const elsewhere = temporaryFolder(t);
    const lonely = { value: null, file: join(elsewhere, 'master.key') };
    writeFileSync(lonely.file, present);
    await assert.rejects(() => place(elsewhere, lonely, other), /is a different master key/);
    assert.equal(readFileSync(lonely.file, 'utf8'), present);
    await assert.rejects(() => place(folder, { ...keySource, value: present }, other), /BERTH_MASTER_KEY/);
    await assert.rejects(() => place(join(folder, 'none'), keySource, other), /does not exist/);
  });

  test('waits for a server to stop', async (t) => {
    const folder = crash(t, (await setUp(t)).folder);
    const running = await openFolder(folder);
    const source = { value: null, file: join(folder, 'master.key') };
    await assert.rejects(
      () => place(folder, source, makeMasterKey()),
      /is in use by another Berth process \(process id \d+\)\. Stop it first\./,
    );
    await running.close();
  });
});
