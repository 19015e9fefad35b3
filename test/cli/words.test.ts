import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { runCli } from '@berth/server/cli/cli';
import { COMMANDS } from '@berth/server/cli/commands/commands';
import type { Origin } from '@berth/shell/console/command-line';
import { readConfig, runBerth } from '../support/berth-command.ts';
import { temporaryFolder } from '../support/server-process.ts';

const unreachable = () => assert.fail('Nothing is to be done.');

/** Runs words that lead to no command, and returns its exit code and what was printed. */
async function say(words: readonly string[], findOrigin = (): Origin | null => null) {
  const printed = { stdout: '', stderr: '' };
  const complain = (text: string) => {
    printed.stderr += `${text}\n`;
  };
  const code = await runCli(words, {
    terminal: {
      screen: { isTerminal: false, hasColor: false },
      print: (text) => {
        printed.stdout += `${text}\n`;
      },
      complain,
      warn: complain,
      fail: complain,
      draw: unreachable,
      columns: null,
      readSecrets: unreachable,
    },
    program: 'berth',
    home: '/nowhere',
    self: [],
    env: {},
    version: '1.2.3',
    findOrigin,
    startServer: unreachable,
    openStoppedServer: unreachable,
    importMasterKey: unreachable,
    moveStore: unreachable,
    examineSurroundings: unreachable,
    restoreBackup: unreachable,
    describeHolder: unreachable,
    isExpected: async () => false,
  });
  return { code, ...printed };
}

/** Words that make no sense, with the sentence that says so. All end with 2. */
const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [['stauts'], /^Unknown command "stauts"\. Did you mean "status"\?\n/],
  [['license', 'lst'], /^Unknown command "license lst"\. Did you mean "license list"\?\n/],
  [['clock', 'acept'], /^Unknown command "clock acept"\. Did you mean "clock accept"\?\n/],
  [['status', 'of', 'what'], /^Unexpected argument after "status"\.\n/],
  [['serve', 'now', 'please'], /^Unexpected argument after "serve"\.\n/],
  [['user', 'add', 'ann'], /^"berth user add" needs --role ROLE\.\n/],
  [['report', 'settle', '1'], /^"berth report settle" needs --counted or --not-counted\.\n/],
  [['license', 'show'], /^"berth license show" needs ID\.\n/],
  [['status', '--prot', '1'], /^Unknown flag "--prot"\. Did you mean "--port"\?\n/],
  [['status', '--jsno'], /^Unknown flag "--jsno"\. Did you mean "--json"\?\n/],
  [['status', '--demo'], /^"berth status" does not accept --demo\.\n/],
  [['audit', 'verify', '--product', 'cad'], /^"berth audit verify" does not accept --product\.\n/],
  [['audit', 'list', '--file', 'x'], /^"berth audit list" does not accept --file\.\n/],
  [['audit', 'verify', '--before', '2030-01-01'], /^"berth audit verify" does not accept --before\.\n/],
  [['key', 'show', '--new-key'], /^"berth key show" does not accept --new-key\.\n/],
  [['key', 'import'], /^"berth key import" needs FILE\.\n/],
  [['key', 'set', 'a-secret'], /^Unexpected argument after "key set"\.\n(?!.*a-secret)/s],
  [
    ['user', 'password', 'ada', 'hunter2'],
    /^Unexpected argument after "user password ada"\.\n(?!.*hunter2)/s,
  ],
  [['status', '--port'], /^--port needs a value\.\n/],
  [['status', '--json=yes'], /^--json does not take a value\.\n/],
];

describe('wrong words', () => {
  for (const [words, sentence] of WRONG) {
    test(`berth ${words.join(' ')}`, async () => {
      const { code, stdout, stderr } = await say(words);
      assert.equal(code, 2);
      assert.equal(stdout, '');
      assert.match(stderr, sentence);
      assert.match(stderr, /\n\nUsage: berth [a-z]+ ?[a-z]* ?[^\n]*\n$/, 'how it is done follows');
    });
  }

  for (const [words, sentence] of [
    [['--hlep'], /^Unknown flag "--hlep"\. Did you mean "--help"\?\n"berth help" lists the commands\.\n$/],
    [['-x'], /^Unknown flag "-x"\.\n"berth help" lists the commands\.\n$/],
    [['--hlep', '--version'], /^Unknown flag "--hlep"\./],
    [['version', 'x'], /^Unexpected argument after "version"\.\n\nUsage: berth version\n$/],
    [['block', 'bob'], /^"berth bar USER" bars a user.*"berth unbar".*\n$/],
    [['uninstall'], /docs\/install\.md explains how to remove Berth\.\n$/],
    [['demo'], /^The demo is a flag: "berth serve --demo"\.\n$/],
    [['login'], /"berth user password NAME".*"berth token create NAME".*\n$/],
    [['setup'], /"berth serve".*"berth user password admin"\.\n$/],
    [['why', 'fay'], /^"berth usage denials --user NAME" .*"berth rules why NAME" what bars them\.\n$/],
    [['who'], /^Unknown command "who"\. Did you mean "registration list"\?\n/],
    [['constructor'], /^Unknown command "constructor"\. "berth help" lists the commands\.\n$/],
  ] as const) {
    test(`berth ${words.join(' ')}`, async () => {
      const { code, stdout, stderr } = await say(words);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, sentence);
    });
  }

  test('no arguments at all are an error', async () => {
    const { code, stdout } = await say([]);
    assert.equal(code, 2);
    assert.match(stdout, /^Usage: berth COMMAND/);
    for (const { words } of COMMANDS) assert.match(stdout, new RegExp(`\n  ${words} `));
    assert.doesNotMatch(stdout, /BERTH_/, 'no settings');
  });

  test('a bare group lists its commands', async () => {
    const { code, stdout } = await say(['registration']);
    assert.equal(code, 2);
    assert.match(
      stdout,
      /^Usage: berth registration COMMAND\n\n {2}registration list .*(\n {2}registration .*){2}\n$/,
    );
  });
});

describe('help', () => {
  for (const [words, sentence] of [
    [['--version'], /^berth \d+\.\d+\.\d+\n$/],
    [['-v'], /^berth \d+\.\d+\.\d+\n$/],
    [['version'], /^berth \d+\.\d+\.\d+\n$/],
    [['help'], /^Usage: berth COMMAND[\s\S]*\n {2}cloud COMMAND +run and administer the vendor's/],
    [['--help'], /^Usage: berth COMMAND/],
    [['status', '-h'], /^Usage: berth status\n/],
    [['license', 'add', '--prodct', '--help'], /^Usage: berth license add PRODUCT \[/],
    [['help', 'license', 'add'], /^Usage: berth license add PRODUCT \[/],
    [['help', 'license'], /^Usage: berth license COMMAND\n/],
    [['license', '--help'], /^Usage: berth license COMMAND\n/],
    [['license', 'help'], /^Usage: berth license COMMAND\n/],
    [['clock', 'help'], /^Usage: berth clock\n[\s\S]*clock accept/],
    [['version', '--json'], /^\{\n {2}"version": "1\.2\.3"\n\}\n$/],
    [['--json', '--version'], /^\{\n {2}"version": "1\.2\.3"\n\}\n$/],
    [['help', 'settings'], /\n {2}--port, BERTH_PORT\n/],
  ] as const) {
    test(`berth ${words.join(' ')}`, async () => {
      const { code, stdout, stderr } = await say(words);
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, sentence);
    });
  }

  test('berth --version says of which commit it is, and whether it runs from the source', async () => {
    const commit = '5f896a5a';
    const built = await say(['--version'], () => ({ commit, date: '2026-11-18' }));
    assert.equal(built.stdout, 'berth 1.2.3 (5f896a5a, 2026-11-18)\n');
    const cloned = await say(['--version'], () => ({ commit, date: null }));
    assert.equal(cloned.stdout, 'berth 1.2.3 (5f896a5a, from source)\n');
    const { stdout } = await say(['version', '--json'], () => ({ commit, date: null }));
    assert.deepEqual(JSON.parse(stdout), { version: '1.2.3', commit, date: null });
  });

  test('needs neither valid settings nor data', async (t) => {
    const data = join(temporaryFolder(t), 'none');
    const { code, stderr } = await runBerth(data, ['status', '--help'], { BERTH_PORT: 'none' });
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(existsSync(data), false);
  });
});

describe('invalid settings', () => {
  function configFile(t: TestContext, yaml: string): string {
    const file = join(temporaryFolder(t), 'berth.yaml');
    writeFileSync(file, yaml);
    return file;
  }

  test('are reported in one sentence, and exit with 2', async (t) => {
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

  test('on or off, in every notation', async (t) => {
    for (const [words, env] of [
      [['--no-http-allow-keys-in-url'], {}],
      [[], { BERTH_HTTP_ALLOW_KEYS_IN_URL: 'false' }],
    ] as const) {
      const { stdout } = await runBerth(temporaryFolder(t), ['config', '--json', ...words], env);
      assert.equal(readConfig(stdout)['http.allowKeysInUrl'], false);
    }
  });

  test('flags over environment over file', async (t) => {
    const file = configFile(t, 'port: 1\nhost: 10.0.0.1\nlog.level: debug');
    const words = ['config', '--json', '--config', file, '--port', '3'];
    const env = { BERTH_PORT: '2', BERTH_HOST: '10.0.0.2' };
    const { code, stdout } = await runBerth(temporaryFolder(t), words, env);
    assert.equal(code, 0);
    const config = readConfig(stdout);
    assert.deepEqual([config.port, config.host, config['log.level']], [3, '10.0.0.2', 'debug']);
  });
});

describe('impossible commands', () => {
  test('commands on a folder without data say so, and create nothing', async (t) => {
    const data = join(temporaryFolder(t), 'none');
    const { code, stdout, stderr } = await runBerth(data, ['status']);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^There is no data in .*none\. Start the server once, select its folder with --data, or set .*\n$/,
    );
    assert.equal(existsSync(data), false);
  });

  test('a folder that cannot be created is reported', async (t) => {
    const file = join(temporaryFolder(t), 'file');
    writeFileSync(file, '');
    const { code, stderr } = await runBerth(join(file, 'data'), ['serve', '--port', '0']);
    assert.equal(code, 1);
    assert.match(stderr, /^The data folder .*data cannot be created: .* is a file, not a folder\.[^\n]*\n$/);
  });
});
