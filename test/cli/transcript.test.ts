import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SETTINGS } from '../../packages/server/src/settings.ts';
import { type CommandResult, runBerth, spawnBerth } from '../support/berth-command.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { testLicense } from '../support/test-license.ts';

const TIME = 'yyyy-mm-ddThh:mm:ss.mmmZ';

/** Commands that only look, so that a running and a stopped server have the same to say. */
const LOOKING: readonly (readonly string[])[] = [
  ['clock'],
  ['clock', 'accept'],
  ['license', 'list'],
  ['license', 'list', '--product', 'nothing'],
  ['license', 'list', '--product', 'A'],
  ['license', 'list', '--license', 'CAM'],
  ['license', 'show', '1'],
  ['license', 'show', '9'],
  ['registration', 'list'],
  ['registration', 'list', '--user', 'nobody'],
  ['registration', 'list', '--user', 'AN', '--product', 'CAD'],
  ['registration', 'release', 'an', '--license', '1'],
  ['usage', 'users', '--user', 'NN', '--product', 'ad', '--json'],
  ['user', 'forget', 'an'],
  ['rules', 'why', 'an'],
  ['registration', 'list', '--address', '10.0.0.0/8'],
  ['registration', 'release', '--address', '10.0.0.0/8'],
  ['registration', 'release'],
  ['registration', 'release', 'nobody', '--product', 'cad'],
  ['registration', 'recall', 'ann', '--license-id', '1'],
  ['audit', 'list', '--license-id', '1'],
  ['audit', 'list', '--limit', '1', '--license-id', '1'],
  ['audit', 'verify'],
  ['audit', 'thin', '--before', '2020-01-01'],
  ['key', 'show'],
];

/** Commands that change something; the first letter of the user says in which state of the server. */
const CHANGING: readonly (readonly [string, string, string])[] = [
  ['registration', 'release', 'plain'],
  ['registration', 'recall', 'borrower'],
];

type Transcript = Readonly<Record<string, CommandResult>>;

const data = temporaryFolder({ after });
let running: Transcript;
let stopped: Transcript;
/** What commands say of a server that does not answer. */
let frozen: readonly CommandResult[];

before(async () => {
  await seedLicenses(data, [testLicense(1, { slots: 9 }), testLicense(2, { product: 'cam' })]);
  const server = await startServerProcess({ data });
  after(() => server.stop('SIGKILL'));
  for (const state of ['r', 's']) {
    await lend(server.url, 'register', `${state}-plain`);
    await lend(server.url, 'borrow', `${state}-borrower`);
  }
  await lend(server.url, 'register', 'ann');
  running = {
    ...(await record(1, changingIn('r'))),
    ...(await record(4, [['status'], ['config'], ...LOOKING])),
  };
  server.child.kill('SIGSTOP');
  const ask = (command: string) => runBerth(data, command.split(' '), {}, '', 200);
  frozen = await Promise.all(['status', 'license list', 'clock accept'].map(ask));
  server.child.kill('SIGCONT');
  assert.equal(await server.stop(), 0);
  stopped = {
    ...(await record(1, [['status'], ['config'], ...LOOKING])),
    ...(await record(1, changingIn('s'))),
  };
});

async function lend(url: string, operation: string, user: string): Promise<void> {
  const body = JSON.stringify({ product: 'cad', user, os_hostname: `host-of-${user}` });
  const { status } = await fetch(`${url}/api/v4/${operation}`, { method: 'POST', body });
  assert.equal(status, 200);
}

function changingIn(state: string): readonly (readonly string[])[] {
  return CHANGING.map(([noun, verb, user]) => [noun, verb, `${state}-${user}`, '--product', 'cad']);
}

/** Runs each command for people and with `--json`, some at once: a stopped server has room for one. */
async function record(atOnce: number, commands: readonly (readonly string[])[]): Promise<Transcript> {
  const jobs = commands.flatMap((words) => [words, [...words, '--json']]);
  const results: Record<string, CommandResult> = {};
  const work = async () => {
    for (let words = jobs.shift(); words !== undefined; words = jobs.shift()) {
      results[words.join(' ')] = await runBerth(data, words);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}

/** Without what may differ: times, the address, how long it has been up, and how much was audited. */
function normalize(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, TIME)
    .replaceAll(/^(\s*"?(?:url|uptime_seconds)"?:?\s+).*$/gm, '$1…')
    .replaceAll(/\d+( events in )\d+( links)/g, 'n$1n$2')
    .replaceAll(/("(?:links|events|ahead_ms)": )-?\d+/g, '$1…');
}

function read(transcript: Transcript, command: string): CommandResult {
  const result = transcript[command];
  assert.ok(result !== undefined, command);
  return result;
}

function assertOutput(command: string, expected: string): void {
  const { code, stdout, stderr } = read(running, command);
  assert.equal(stderr, '');
  assert.equal(normalize(stdout), `${expected}\n`);
  assert.equal(code, 0);
}

function assertRefused(command: string, code: string, message: RegExp): void {
  const plain = read(running, command);
  assert.equal(plain.code, 1);
  assert.equal(plain.stdout, '');
  assert.match(plain.stderr, message);
  const json = read(running, `${command} --json`);
  assert.equal(json.code, 1);
  const problem = JSON.parse(json.stdout);
  assert.equal(problem.code, code);
  assert.match(problem.message, message);
}

describe('running and stopped print the same', () => {
  for (const words of LOOKING) {
    for (const command of [words.join(' '), [...words, '--json'].join(' ')]) {
      test(command, () => {
        const [one, two] = [read(running, command), read(stopped, command)];
        assert.equal(normalize(two.stdout), normalize(one.stdout));
        assert.equal(two.stderr, one.stderr);
        assert.equal(two.code, one.code);
        if (command.endsWith('--json')) assert.equal(typeof JSON.parse(one.stdout), 'object');
      });
    }
  }
});

/** The commands of tests run in their own process as a rule. */
describe('a process prints the same', () => {
  for (const command of ['license list', 'license show 9', 'registration release', 'status --jsno']) {
    test(command, async () => {
      const words = command.split(' ');
      assert.deepEqual(await spawnBerth(data, words), await runBerth(data, words));
    });
  }

  test('and reads standard input', async () => {
    const words = ['user', 'add', 'ada', '--role', 'user'];
    const { code, stdout, stderr } = await spawnBerth(data, words, {}, 'a password of my own\n');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /"ada"/);
  });
});

describe('what is printed', () => {
  test('status', () => {
    const { code, stdout } = read(running, 'status');
    assert.equal(code, 0);
    const [first, ...lines] = stdout.split('\n');
    assert.match(String(first), /^Running at http:\/\/127\.0\.0\.1:\d+ for \d+ seconds?\.$/);
    const values = Object.fromEntries(lines.map((line) => line.split(/ {2,}/))) as Record<string, string>;
    assert.equal(values.data, data);
    assert.equal(values.licenses, '2');
    assert.equal(values['slots in use'], '3');
    assert.equal(values.clock, 'agrees with the wall clock');
    assert.equal(JSON.parse(read(running, 'status --json').stdout).healthy, true);
  });

  test('the status of a stopped server, which fails', () => {
    const [plain, json] = [read(stopped, 'status'), read(stopped, 'status --json')];
    assert.deepEqual([plain.code, json.code], [1, 1]);
    assert.match(plain.stdout, /^Not running\. This is what its data says:\n/);
    const { url, store } = JSON.parse(json.stdout);
    assert.deepEqual([url, store.licenses], [null, 2]);
  });

  test('commands to a server that does not answer, which give up', () => {
    for (const { code, stdout, stderr } of frozen) {
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^The server does not answer: .* which has said nothing for 0\.2 seconds\. /);
    }
  });

  test('config, every setting, and where it comes from', () => {
    const { stdout } = read(running, 'config');
    assert.match(stdout, /^The running server uses:\nsetting +from +value\n/);
    const names = stdout.split('\n').map((line) => line.split(' ')[0]);
    for (const { path } of SETTINGS) assert.ok(names.includes(path), path);
    assert.match(stdout, /^port +--port +0$/m);
    assert.match(stdout, /^http\.trustedProxies +default$/m);
    const told = JSON.parse(read(running, 'config --json').stdout);
    assert.deepEqual([told.running, told.differs, told.not_asked], [true, [], null]);
    assert.match(read(stopped, 'config').stdout, /^No server runs\. It would be started with:\n/);
  });

  test('clock', () => {
    assertOutput('clock', `server time  ${TIME}\nwall clock   ${TIME}\nclock        agrees`);
    assertRefused('clock accept', 'clock_not_ahead', /nothing to accept/);
  });

  test('licenses', () => {
    const lines = [
      'id  product  state   ends at  source   slots  in use  borrowed',
      '2   cam      active  never    offline  5      0       0',
      '1   cad      active  never    offline  9      3       1',
    ];
    assertOutput('license list', lines.join('\n'));
    assert.match(
      read(running, 'license list --product nothing').stderr,
      /^This server has no license for a product like "nothing"\. It has licenses for cad, cam\.\n$/,
    );
    assert.equal(read(running, 'license list --product A').stderr, '"A" may be cad, cam. Type more of it.\n');
    assertOutput('license list --license CAM', [lines[0], lines[1]].join('\n'));
    const shown = JSON.parse(read(running, 'license show 1 --json').stdout);
    assert.equal(shown.id, 1);
    assert.equal(shown.state, 'active');
    assert.match(read(running, 'license show 1').stdout, /^floating_in_use +3$/m);
    assertRefused('license show 9', 'license_not_found', /^This server holds no license with the id 9\.\n?$/);
  });

  test('registrations', () => {
    const lines = [
      'license  product  user        host                address    since                     ' +
        'until                     borrowed  programs',
      ...['ann', 's-borrower', 's-plain'].map((user) => {
        const holder = `${user.padEnd(10)}  ${`host-of-${user}`.padEnd(18)}`;
        const isBorrowed = user === 's-borrower' ? 'yes' : 'no';
        return `1        cad      ${holder}  127.0.0.1  ${TIME}  ${TIME}  ${isBorrowed.padEnd(8)}  1`;
      }),
    ];
    assertOutput('registration list', lines.join('\n'));
    assertOutput('registration list --user nobody', 'Nobody with "nobody" in the name holds a slot.');
    const shown = read(running, 'registration list --user AN --product CAD').stdout.split('\n');
    assert.deepEqual([shown.length, /^1 +cad +ann /.test(shown[1] ?? '')], [3, true], 'a part of a name');
    const { users } = JSON.parse(read(running, 'usage users --user NN --product ad --json').stdout);
    assert.deepEqual(
      users.map(({ user }: { user: string }) => user),
      ['ann'],
    );
    assertOutput('registration list --address 10.0.0.0/8', 'Nobody holds a slot.');
  });

  test('releasing and recalling, or why not', () => {
    const borrowed = 'The slot is free. The borrower can still work offline until the borrow ends.';
    for (const [state, transcript] of [
      ['r', running],
      ['s', stopped],
    ] as const) {
      const released = read(transcript, `registration release ${state}-plain --product cad`);
      assert.deepEqual(released, { code: 0, stdout: 'The slot is free.\n', stderr: '' });
      const recalled = read(transcript, `registration recall ${state}-borrower --product cad`);
      assert.deepEqual(recalled, { code: 0, stdout: `${borrowed}\n`, stderr: '' });
      const again = read(transcript, `registration release ${state}-plain --product cad --json`);
      assert.equal(JSON.parse(again.stdout).code, 'device_not_found');
    }
    const near = 'No exact match for "an". Did you mean "ann"?';
    assertRefused('registration release an --license 1', 'device_not_found', new RegExp(`slot.* ${near}`));
    assert.equal(read(running, 'user forget an').stderr, `${near}\n`);
    const several = 'Name the "product": this server has several, or none.';
    assertOutput('rules why an', `Nothing bars them.\n\n${several} ${near}`);
    assertRefused('registration release nobody --product cad', 'device_not_found', /"nobody" holds no slot/);
    assertOutput('registration release --address 10.0.0.0/8', 'Released 0 slots.');
    assertRefused('registration release', 'missing_parameters', /Say whose slot/);
    assertRefused('registration recall ann --license-id 1', 'slot_not_borrowed', /Release it instead/);
  });

  test('the audit log', () => {
    const newest = [
      'at                        license  event',
      `${TIME}  1        slot_recalled  user=r-borrower borrowed_until=${TIME} by=control`,
    ];
    assertOutput('audit list --limit 1 --license-id 1', newest.join('\n'));
    const events = JSON.parse(read(running, 'audit list --license-id 1 --json').stdout).events;
    const kinds = events.map(({ kind }: { kind: string }) => kind);
    assert.deepEqual(kinds.slice(0, 2), ['slot_recalled', 'slot_returned']);
    assert.equal(kinds.at(-1), 'license_added');
    assertOutput('audit verify', 'The audit log is intact: n events in n links of 3 chains.');
    assert.equal(JSON.parse(read(running, 'audit verify --json').stdout).ok, true);
    assertOutput('audit thin --before 2020-01-01', 'There is nothing that old.');
  });
});
