import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { runBerth } from '../faults/berth-command.ts';
import { temporaryFolder } from '../support/server-process.ts';

/** The commands of this file share their compiled code, which makes them twice as fast. */
process.env.NODE_COMPILE_CACHE = temporaryFolder({ after });

/** Words that make no sense, with the sentence that says so. All end with 2. */
const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [['stauts'], /^Unknown command "stauts"\. Did you mean "status"\?\n/],
  [['license', 'lst'], /^Unknown command "license lst"\. Did you mean "license list"\?\n/],
  [['registration'], /^Unknown command "registration"\.\n/],
  [['clock', 'acept'], /^"acept" is one word too many\. Did you mean "clock accept"\?\n/],
  [['status', 'of', 'what'], /^"of" is one word too many\.\n/],
  [['serve', 'now', 'please'], /^"now" is one word too many\.\n/],
  [['license', 'show'], /^"berth license show" needs ID\.\n/],
  [['status', '--prot', '1'], /^Unknown option '--prot'\. Did you mean "--port"\?\n/],
  [['status', '--jsno'], /^Unknown option '--jsno'\. Did you mean "--json"\?\n/],
  [['status', '--demo'], /^"berth status" takes no --demo\.\n/],
  [['audit', 'list', '--product', 'cad'], /^"berth audit list" takes no --product\.\n/],
  [['audit', 'list', '--file', 'x'], /^"berth audit list" takes no --file\.\n/],
  [['audit', 'verify', '--before', '2030-01-01'], /^"berth audit verify" takes no --before\.\n/],
  [['key', 'show', '--new-key'], /^"berth key show" takes no --new-key\.\n/],
  [['key', 'import'], /^"berth key import" needs FILE\.\n/],
  [['key', 'set', 'a-secret'], /^"a-secret" is one word too many\.\n/],
  [['status', '--port'], /^Option '--port' argument is ambiguous\.\n/],
  [['status', '--json=yes'], /^Option '--json' does not take an argument\.\n/],
];

describe('wrong words', () => {
  for (const [words, sentence] of WRONG) {
    test(`berth ${words.join(' ')}`, async (t) => {
      const { code, stdout, stderr } = await runBerth(temporaryFolder(t), words);
      assert.equal(code, 2);
      assert.equal(stdout, '');
      assert.match(stderr, sentence);
      assert.match(stderr, /\nberth COMMAND \[FLAGS\]\n/, 'how it is done follows');
    });
  }

  test('none at all is a question', async (t) => {
    const { code, stdout } = await runBerth(temporaryFolder(t), []);
    assert.equal(code, 2);
    assert.match(stdout, /^berth COMMAND/);
  });

  test('--version is an answer', async (t) => {
    const { code, stdout } = await runBerth(temporaryFolder(t), ['--version']);
    assert.equal(code, 0);
    assert.match(stdout, /^berth \d+\.\d+\.\d+\n$/);
  });

  test('--help is an answer', async (t) => {
    const { code, stdout, stderr } = await runBerth(temporaryFolder(t), ['status', '-h']);
    assert.equal(code, 0);
    assert.match(stdout, /^berth COMMAND/);
    assert.equal(stderr, '');
  });
});

describe('settings that cannot be used', () => {
  function configFile(t: TestContext, yaml: string): string {
    const file = join(temporaryFolder(t), 'berth.yaml');
    writeFileSync(file, yaml);
    return file;
  }

  test('are told in one sentence, and end with 2', async (t) => {
    const { code, stdout, stderr } = await runBerth(temporaryFolder(t), ['config', '--port', '80800']);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.equal(stderr, '"port" cannot be "80800". Allowed: whole numbers from 0 to 65535.\n');
  });

  test('in the file too', async (t) => {
    const file = configFile(t, 'prot: 80');
    const { code, stderr } = await runBerth(temporaryFolder(t), ['config', '--config', file]);
    assert.equal(code, 2);
    assert.equal(stderr, `${file}: unknown setting "prot". Did you mean "port"?\n`);
  });

  test('on or off, in every way', async (t) => {
    for (const [words, env] of [
      [['--no-http-allow-keys-in-url'], {}],
      [[], { BERTH_HTTP_ALLOW_KEYS_IN_URL: 'false' }],
    ] as const) {
      const { stdout } = await runBerth(temporaryFolder(t), ['config', '--json', ...words], env);
      assert.equal(JSON.parse(stdout).http.allowKeysInUrl, false);
    }
  });

  test('flags over environment over file', async (t) => {
    const file = configFile(t, 'port: 1\nhost: 10.0.0.1\nlog.level: debug');
    const words = ['config', '--json', '--config', file, '--port', '3'];
    const env = { BERTH_PORT: '2', BERTH_HOST: '10.0.0.2' };
    const { code, stdout } = await runBerth(temporaryFolder(t), words, env);
    assert.equal(code, 0);
    const { port, host, log } = JSON.parse(stdout);
    assert.deepEqual([port, host, log.level], [3, '10.0.0.2', 'debug']);
  });
});

describe('what cannot be done', () => {
  test('commands on a folder without data say so, and create nothing', async (t) => {
    const data = join(temporaryFolder(t), 'none');
    const { code, stdout, stderr } = await runBerth(data, ['status']);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^There is no data in .*none\. Start the server once, name its folder with --data, or set .*\n$/,
    );
    assert.equal(existsSync(data), false);
  });

  test('a folder that cannot be made is told in a sentence', async (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    const { code, stderr } = await runBerth(join(file, 'data'), ['serve', '--port', '0']);
    assert.equal(code, 1);
    assert.match(stderr, /^The data folder .*data cannot be created: ENOTDIR[^\n]*\n$/);
  });
});
