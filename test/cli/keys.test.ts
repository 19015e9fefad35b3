import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runBerth } from '../support/berth-command.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { setUpData, succeeded } from './data-states.ts';

const PASSPHRASE = 'a passphrase, long';

for (const state of ['running', 'stopped'] as const) {
  describe(`keys of a server that is ${state}`, () => {
    test('are set from standard input and shown by their fingerprints', async (t) => {
      const { run, data } = await setUpData(t, state);
      assert.match(succeeded(await run('key show')), /^API key +not set\nshared key +not set\nmaster key +/);
      const set = succeeded(await run('key set', 'planted one\nplanted two\n'));
      assert.match(set, /^Set: api key, shared key\.\nAPI key +[0-9a-f]{8}\nshared key +[0-9a-f]{8}\n$/);
      const [, api, shared] = set.split('\n');
      const again = succeeded(await run('key set', '\nother'));
      assert.ok(again.startsWith(`Set: shared key.\n${api}\n`) && !again.includes(shared ?? ''));
      const named = succeeded(await run('key set --json', 'SHARED_KEY=planted two\n'));
      assert.deepEqual(JSON.parse(named).changed, ['shared_key']);
      const shown = succeeded(await run('key show'));
      assert.ok(shown.startsWith(`${api}\n${shared}\nmaster key  `), 'the same key has the same fingerprint');
      assert.ok(shown.includes(`, from ${join(data, 'master.key')}\n`));
      assert.doesNotMatch(set + again + named + shown, /planted/);
    });

    test('that are wrong are reported without being shown', async (t) => {
      const { run } = await setUpData(t, state);
      const cases: readonly (readonly [string, RegExp])[] = [
        ['', /^Send "apiKey", "sharedKey", or both\.\n$/],
        ['\n\n', /^Send "apiKey"/],
        ['plan\tted\n', /^"api_key" must be readable text without control characters\.\n$/],
        ['apiKey=planted\nplanted\n', /^Name both keys, or neither\.\n$/],
        ['apiKey=planted\napi_key=planted\n', /^The same key is given twice\.\n$/],
      ];
      for (const [input, sentence] of cases) {
        const { code, stdout, stderr } = await run('key set', input);
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, sentence);
        assert.doesNotMatch(stderr, /planted/);
      }
    });

    test("of the vendor are missed before a request uses up the vendor's activation", async (t) => {
      const { run } = await setUpData(t, state);
      for (const [words, missing] of [
        ['offline request', 'cloud.publicKey'],
        ['airgap activate K-1', 'airgap.publicKey'],
      ] as const) {
        const { code, stdout, stderr } = await run(words, 'planted');
        assert.deepEqual([code, stdout], [1, '']);
        assert.ok(stderr.startsWith(`Set ${missing} to the key of the vendor first: `), stderr);
      }
    });

    test('the master key is replaced', async (t) => {
      const { run, data } = await setUpData(t, state);
      await run('key set', 'one\ntwo\n');
      const before = readFileSync(join(data, 'master.key'), 'utf8');
      const told = succeeded(await run('key rotate'));
      assert.match(
        told,
        /^All secrets are sealed with master key [0-9a-f]{16}; [0-9a-f]{16} no longer opens/,
      );
      assert.notEqual(readFileSync(join(data, 'master.key'), 'utf8'), before);
      assert.equal(statSync(join(data, 'master.key')).mode & 0o777, 0o600);
      assert.match(succeeded(await run('audit verify')), /^The audit log is intact/);
      const { master_key } = JSON.parse(succeeded(await run('key show --json')));
      assert.ok(told.includes(master_key.fingerprint));
      const given = randomBytes(32).toString('hex');
      succeeded(await run('key rotate --new-key', given));
      assert.equal(readFileSync(join(data, 'master.key'), 'utf8').trim(), given);
    });

    test('the master key in the environment is replaced by a given one', async (t) => {
      const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];
      const { run, data } = await setUpData(t, state, { BERTH_MASTER_KEY: first });
      succeeded(await run('key set', 'one\ntwo\n'));
      assert.match(succeeded(await run('key show')), /, from the environment\n$/);
      const refused = await run('key rotate');
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /environment.*--new-key/);
      const told = succeeded(await run('key rotate --new-key', `${second}\n`));
      assert.match(told, /Put the new key into BERTH_MASTER_KEY before the next start\.\n$/);
      assert.ok(!told.includes(second));
      if (state === 'running') return assert.match(succeeded(await run('audit verify')), /intact/);
      const old = await run('status');
      assert.equal(old.code, 1);
      assert.match(old.stderr, /^The master key is not the one that sealed this store/);
      succeeded(await run('clock', '', { BERTH_MASTER_KEY: second }));
      assert.throws(() => statSync(join(data, 'master.key')), 'no file beside the environment');
    });
  });
}

describe('an export into a file', () => {
  test('is checked before it is saved, and replaces nothing', async (t) => {
    const { run } = await setUpData(t, 'stopped');
    const file = join(temporaryFolder(t), 'berth-key.json');
    const short = await run(`key export --out ${file}`, 'short\n');
    assert.equal(short.code, 1);
    assert.throws(() => statSync(file), 'nothing is left of an export that failed');
    const done = succeeded(await run(`key export --out ${file}`, `${PASSPHRASE}\n`));
    assert.match(done, /^Saved master key [0-9a-f]{16} in \S+\. The file was read back and opens with/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const before = readFileSync(file, 'utf8');
    assert.equal(JSON.parse(before).format, 'berth key export');
    const again = await run(`key export --out ${file}`, `${PASSPHRASE}\n`);
    assert.match(again.stderr, /already exists\. Choose another file/);
    assert.equal(readFileSync(file, 'utf8'), before);
    const nowhere = await run(`key export --out ${join(file, 'none')}`, `${PASSPHRASE}\n`);
    assert.match(nowhere.stderr, /^\S+ cannot be written: part of its path is a file/);
    const exports = succeeded(await run('audit list --system')).match(/master_key_exported/g);
    assert.equal(exports?.length, 1, 'only what was kept is recorded');
    const { fingerprint } = JSON.parse(
      succeeded(await run(`key export --json --out ${file}.2`, `${PASSPHRASE}\n`)),
    );
    assert.ok(done.includes(fingerprint));
  });

  test('may have been redirected by npm or by PowerShell', async (t) => {
    const { run } = await setUpData(t, 'stopped');
    const file = join(temporaryFolder(t), 'berth-key.json');
    const text = succeeded(await run('key export', `${PASSPHRASE}\n`));
    const noisy = `\n> berth\n> node main.ts key export\n\n${text}`;
    writeFileSync(file, Buffer.from(`\uFEFF${noisy.replaceAll('\n', '\r\n')}`, 'utf16le'));
    assert.match(succeeded(await run(`key import ${file}`, `${PASSPHRASE}\n`)), /^Installed master key /);
  });
});

describe('an exported master key', () => {
  test('opens data that was restored without it', async (t) => {
    const { run, data } = await setUpData(t, 'running');
    const fingerprints = succeeded(await run('key set', 'one\ntwo\n'))
      .split('\n')
      .slice(1)
      .join('\n');
    const short = await run('key export', 'short\n');
    assert.deepEqual([short.code, short.stdout], [1, '']);
    const text = succeeded(await run('key export', `${PASSPHRASE}\n`));
    assert.equal(text.split('\n').length, 2, 'one line');
    assert.equal(JSON.parse(text).format, 'berth key export');
    const restored = temporaryFolder(t);
    const files = temporaryFolder(t);
    writeFileSync(join(files, 'export.json'), text);
    writeFileSync(join(files, 'damaged.json'), text.replace('"sealed":"', '"sealed":"AAAA'));
    cpSync(data, restored, { recursive: true, filter: (name) => !/\.(key|sock|lock)$/.test(name) });
    const runThere = (words: string[], input = '') => runBerth(restored, words, {}, input);
    assert.match((await runThere(['status'])).stderr, /^The master key .* is missing/);
    const importOf = (name: string, passphrase: string) =>
      runThere(['key', 'import', join(files, name)], `${passphrase}\n`);
    const wrong = await importOf('export.json', 'another passphrase');
    const damaged = await importOf('damaged.json', PASSPHRASE);
    assert.match(wrong.stderr, /^The key cannot be opened: the passphrase is wrong\.\n$/);
    assert.match(damaged.stderr, /^The key cannot be opened: the file is damaged\. /);
    assert.match(
      (await importOf('none.json', PASSPHRASE)).stderr,
      /^The file \S+none\.json does not exist\.\n$/,
    );
    assert.match(
      succeeded(await importOf('export.json', PASSPHRASE)),
      /^Installed master key [0-9a-f]{16}\.\n$/,
    );
    assert.equal(statSync(join(restored, 'master.key')).mode & 0o777, 0o600);
    assert.ok(succeeded(await runThere(['key', 'show'])).startsWith(fingerprints));
    assert.match(succeeded(await runThere(['audit', 'verify'])), /intact/);
    rmSync(join(restored, 'master.key'));
    writeFileSync(join(restored, 'master.key'), randomBytes(32).toString('hex'));
    const other = await importOf('export.json', PASSPHRASE);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /is a different master key .*Nothing was written\.\n$/);
    const busy = await runBerth(data, ['key', 'import', join(files, 'export.json')], {}, `${PASSPHRASE}\n`);
    assert.match(
      busy.stderr,
      /^\S+ is in use by another Berth process \(process id \d+\)\. Stop it first\.\n$/,
    );
  });
});
