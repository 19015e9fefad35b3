import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { addFooter, readFacts } from '@berth/shell/files/backup-file';
import { createCommandLine } from '../../../../../test/support/cloud/cloud-command-line.ts';
import { cloudFolder } from '../../../../../test/support/cloud/test-cloud.ts';
import { temporaryFolder } from '../../../../../test/support/server-process.ts';
import { openDataFolder } from '../../../src/store/data-folder.ts';

const OTHER_KEY = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });

function setUp(t: TestContext) {
  const folder = temporaryFolder(t);
  const data = cloudFolder(t);
  const within = (name: string) => (name === 'data' ? data : join(folder, name));
  const run = (data: string, words: string) => createCommandLine(t, within(data))(words);
  writeFileSync(within('passphrase'), 'four unrelated words\n');
  return { within, run };
}

/** A cloud with a product, a backup of that, and another product. */
async function makeBackup(t: TestContext, flags = '') {
  const { within, run } = setUp(t);
  await run('data', 'product create cad');
  const given = flags.replace('PASSPHRASE', within('passphrase'));
  const saved = await run('data', `backup ${within('one.backup')}${given}`);
  assert.equal(saved.code, 0, saved.err);
  await run('data', 'product create later');
  return { within, run, saved };
}

describe('the backup of a cloud', () => {
  test('replaces what happened after it, keeps that, and says what it lacks', async (t) => {
    const { within, run, saved } = await makeBackup(t);
    assert.match(saved.out, /^Everything was saved and checked\.\n[\s\S]*does not contain the keys/);
    const { mode, size } = statSync(within('one.backup'));
    assert.deepEqual([mode & 0o777, /^bytes +(\d+)$/m.exec(saved.out)?.[1]], [0o600, String(size)]);
    assert.match((await run('data', `backup ${within('one.backup')}`)).err, /already exists/);
    const { code, out, err } = await run('data', `restore ${within('one.backup')}`);
    assert.equal(code, 0, err);
    assert.match(out, /^Everything was restored[\s\S]*The backup lacks[\s\S]*product_created/);
    assert.match((await run('data', 'product list')).out, /cad/);
    assert.doesNotMatch((await run('data', 'product list')).out, /later/);
    assert.match((await run('data', 'event list')).out, /backup_restored/);
    const kept = readdirSync(within('data')).filter((name) => name.includes('replaced'));
    assert.equal(kept.length, 1);
    mkdirSync(within('kept'), { mode: 0o700 });
    for (const name of ['signing-key.pem', 'airgap-key.pem']) {
      copyFileSync(join(within('data'), name), join(within('kept'), name));
    }
    copyFileSync(join(within('data'), kept[0] as string), join(within('kept'), 'cloud.db'));
    assert.match((await run('kept', 'product list')).out, /later/);
  });

  test('does not give the ids of licenses that were sold after it to others', async (t) => {
    const { within, run } = await makeBackup(t);
    const sell = async (words: string) =>
      JSON.parse((await run('data', `license create --product cad ${words} --json`)).out).id as number;
    const sold = [await sell('--key SOLD-1'), await sell('--key SOLD-2')];
    const { out } = await run('data', `restore ${within('one.backup')}`);
    assert.match(out, /license_created +SOLD-2[\s\S]*"license create --key KEY"[\s\S]*add that key/);
    const again = [await sell('--key SOLD-2'), await sell('--key SOLD-3')];
    assert.equal(new Set([...sold, ...again]).size, 4);
    for (const id of again) assert.ok(Number.isSafeInteger(id) && id > 0);
  });

  test('is restored elsewhere with its passphrase, or with its keys, or not at all', async (t) => {
    const { within, run } = await makeBackup(t, ' --passphrase-file PASSPHRASE');
    const failed = await run('other', `restore ${within('one.backup')}`);
    assert.match(failed.err, /needs the signing key [0-9a-f]{16} and the air-gap key [0-9a-f]{16}/);
    writeFileSync(within('wrong'), 'another passphrase\n');
    const wrong = await run('other', `restore ${within('one.backup')} --passphrase-file ${within('wrong')}`);
    assert.match(wrong.err, /The key cannot be opened: the passphrase is wrong\. Nothing was changed\./);
    assert.deepEqual(readdirSync(within('other')), []);
    const words = `restore ${within('one.backup')} --passphrase-file ${within('passphrase')}`;
    const { code, out, err } = await run('other', words);
    assert.equal(code, 0, err);
    assert.match(out, /there was no older data to compare with/);
    assert.match((await run('other', 'product list')).out, /cad/);
    const keys = ['data', 'other'].map((data) => readFileSync(join(within(data), 'signing-key.pem'), 'utf8'));
    assert.equal(keys[0], keys[1]);
    mkdirSync(within('stranger'), { mode: 0o700 });
    writeFileSync(join(within('stranger'), 'signing-key.pem'), OTHER_KEY, { mode: 0o600 });
    assert.match((await run('stranger', words)).err, /is another key than that of the backup/);
  });

  test('made by a newer Berth is called that', async (t) => {
    const { within, run } = await makeBackup(t, ' --passphrase-file PASSPHRASE');
    const { sealed_keys, bytes, ...facts } = readFacts(within('one.backup'));
    truncateSync(within('one.backup'), bytes);
    const newer = { ...facts, sealed_keys: { ...sealed_keys, version: 2 } };
    addFooter(within('one.backup'), newer, new Uint8Array(32), () => {});
    const words = `restore ${within('one.backup')} --passphrase-file ${within('passphrase')}`;
    const { err } = await run('other', words);
    assert.match(err, /a newer Berth has sealed it .*restore it with that version\. Nothing was changed\./);
  });

  test('brings all signing keys, or names the one that is missing', async (t) => {
    const { within, run } = setUp(t);
    for (const words of ['product create cad', 'signing-key add', 'signing-key switch']) {
      const { code, err } = await run('data', words);
      assert.equal(code, 0, err);
    }
    const sealed = `backup ${within('one.backup')} --passphrase-file ${within('passphrase')}`;
    assert.equal((await run('data', sealed)).code, 0);
    const words = `restore ${within('one.backup')} --passphrase-file ${within('passphrase')}`;
    const { code, err } = await run('other', words);
    assert.equal(code, 0, err);
    const list = async (data: string) => (await run(data, 'signing-key list')).out;
    assert.equal(await list('other'), await list('data'));
    assert.equal((await run('other', 'public-key')).out.match(/BEGIN PUBLIC KEY/g)?.length, 2);
    rmSync(join(within('other'), 'signing-key.pem'));
    const lacking = await run('other', `restore ${within('one.backup')}`);
    assert.match(lacking.err, /needs the signing key [0-9a-f]{16} in signing-key\.pem/);
    assert.match(lacking.err, /Nothing was changed/);
  });

  test('is refused while the cloud runs, or when it was altered', async (t) => {
    const { within, run } = await makeBackup(t);
    const running = openDataFolder(within('data'));
    const refused = await run('data', `restore ${within('one.backup')}`);
    running.close();
    assert.match(refused.err, /is in use, or damaged[\s\S]*Nothing was changed/);
    const whole = readFileSync(within('one.backup'));
    for (const at of [0, 5000, whole.length - 100, whole.length - 1]) {
      const altered = Buffer.from(whole);
      altered[at] = (altered[at] as number) ^ 1;
      for (const bytes of [altered, whole.subarray(0, at)]) {
        writeFileSync(within('altered'), bytes);
        const { code, err } = await run('data', `restore ${within('altered')}`);
        assert.equal(code, 1, `${at}`);
        assert.match(err, /Use another copy/);
      }
    }
    assert.match((await run('data', 'product list')).out, /later/);
  });
});
