import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCli } from '@berth/cloud/cli/cli';
import { writeAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { createTerminal } from '@berth/shell/console/terminal';
import { createDataFolder } from '../../../packages/server/src/store/folder-access.ts';
import { runBerth } from '../../support/berth-command.ts';
import { cloudFolder } from '../../support/cloud/test-cloud.ts';
import { TEST_VENDOR as vendor } from '../../support/cloud/test-vendor.ts';
import { exchange } from '../../support/raw-socket.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

/** Attacks by names and words: what people read, what rules compare, what a server calls itself. */

const folder = temporaryFolder({ after });
const data = join(folder, 'data');
let server: Server;

before(async () => {
  createDataFolder(data);
  writeFileSync(join(data, 'rules.yaml'), 'deny: { users: [bob, jos\u00e9, "ext-*"], hosts: [lab-1] }\n');
  await seedLicenses(data, [testLicense(1, { slots: 20 })]);
  server = await startServerHere({ data });
});

after(() => server.stop());

async function register(fields: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${server.url}/api/v4/register`, {
    method: 'POST',
    body: JSON.stringify(fields),
  });
  return (await answer.json()) as Record<string, unknown>;
}

/** What a terminal would act upon, or what nobody would see there. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

const cloudData = cloudFolder({ after });

async function runCloud(words: readonly string[], data = cloudData): Promise<string> {
  let text = '';
  const output = {
    isTTY: false,
    write: (more: string) => {
      text += more;
      return true;
    },
  };
  const terminal = { ...createTerminal(output, output, {}), readSecret: async () => '' };
  await runCli([...words, '--data', data], { program: 'cloud', home: folder, env: {}, terminal });
  return text;
}

describe('attacks by names', () => {
  test('user names that look alike: invisible and bidirectional characters get no slot', async () => {
    await register({ user: 'alice' });
    for (const user of ['alice\u200b', '\u202eecila', 'al\u00adice', 'alice\u2060', 'alic\u2066e']) {
      const { code, message } = await register({ user });
      assert.equal(code, 'validation_error', JSON.stringify(user));
      assert.match(String(message), /U\+[0-9A-F]{4}/);
    }
    for (const user of [' alice', 'alice\u00a0', '\ufeffalice']) {
      assert.equal((await register({ user })).floating_in_use, 1, 'the slot that they hold');
    }
  });

  test('evading a bar: another case, width, accent or invisible character does not help', async () => {
    const names = [
      'bob',
      'BOB',
      '\uff42\uff4f\uff42',
      'b\u200dob',
      'b\u200cob\ufe0f',
      'jose\u0301',
      'EXT-\uff11',
    ];
    for (const user of [...names, ' bob ']) {
      assert.equal((await register({ user })).code, 'blacklisted', JSON.stringify(user));
    }
    for (const os_hostname of ['LAB-1', '\uff4c\uff41\uff42-1', 'lab\u200b-1', ' lab-1']) {
      assert.equal((await register({ user: 'eve', os_hostname })).code, 'blacklisted', os_hostname);
    }
    assert.equal((await register({ user: 'bobby' })).code, undefined);
  });

  test('terminal escapes in names: no command prints what a terminal obeys or hides', async () => {
    const host = 'desk\u202e\u200b\u2066gpj.exe';
    await register({ user: 'mallory', os_hostname: host, user_info: `\u001b[2J\u009b31m\u2028${host}` });
    await register({ user: 'b\u200dob', os_hostname: 'x' });
    const running: Promise<void>[] = [];
    for (const words of [
      ['registration', 'list'],
      ['registration', 'list', '--json'],
      ['audit', 'list'],
      ['audit', 'list', '--json'],
      ['events', '--after', '0', '--limit', '3'],
      ['events', '--after', '0', '--limit', '3', '--json'],
      ['registration', 'release', `nobody\u202e`],
      ['registration', 'release', `nobody\u202e`, '--json'],
      ['license', 'show\u009b2J'],
    ]) {
      running.push(
        runBerth(data, words).then(({ stdout, stderr }) => {
          assert.ok((stdout + stderr).length > 0, words.join(' '));
          assert.doesNotMatch(stdout + stderr, UNPRINTABLE, words.join(' '));
        }),
      );
    }
    await Promise.all(running);
    const { stdout } = await runBerth(data, ['registration', 'list', '--user', 'mallory', '--json']);
    const [{ os_hostname }] = JSON.parse(stdout).registrations;
    assert.equal(os_hostname, host, 'JSON means the same');
  });

  test('a data folder that others can write: neither the server nor the cloud starts on it', {
    skip: process.platform === 'win32' && 'Windows has no modes',
  }, async () => {
    const shared = join(folder, 'shared');
    createDataFolder(shared);
    await seedLicenses(shared, [testLicense(1)]);
    chmodSync(shared, 0o777);
    const remedy =
      `Other users of this machine can write to ${shared} (mode 0777). ` +
      `Remove that access: chmod 700 ${shared}`;
    const refused = await runBerth(shared, ['serve', '--port', '0']);
    assert.deepEqual([refused.code, refused.stderr], [1, `${remedy}\n`]);
    assert.equal((await runBerth(shared, ['license', 'list'])).stderr, `${remedy}\n`);
    assert.equal(await runCloud(['key', 'create'], shared), `${remedy}\n`);
    chmodSync(shared, 0o700);
    chmodSync(join(shared, 'master.key'), 0o666);
    const { stderr } = await runBerth(shared, ['serve', '--port', '0']);
    assert.match(stderr, /can write to \S+master\.key \(mode 0666\)/);
    chmodSync(join(shared, 'master.key'), 0o600);
    assert.equal((await runBerth(shared, ['license', 'list'])).code, 0);
  });

  test('terminal escapes in names: nor does a command of the licensing cloud', async () => {
    const company = 'Evil\u001b]0;owned\u0007\u202e\u200b';
    await runCloud(['key', 'create']);
    await runCloud(['product', 'create', 'cad']);
    await runCloud(['license', 'create', '--product', 'cad', '--company', company]);
    for (const words of [
      ['license', 'list'],
      ['event', 'list'],
      ['event', 'list', '--json'],
      ['license', company],
    ]) {
      const shown = await runCloud(words);
      assert.ok(shown.length > 0, words.join(' '));
      assert.doesNotMatch(shown, UNPRINTABLE, words.join(' '));
    }
  });
});

const KEY = 'AAAA-BBBB-CCCC-DDDD';

type Server = Awaited<ReturnType<typeof startServerHere>>;

const started: Server[] = [];
after(() => Promise.all(started.map((one) => one.stop())));

/** A server behind an air gap, which knows the keys of the vendor. */
async function startBehindGap(name: string, ...args: string[]): Promise<Server> {
  const env = {
    BERTH_CLOUD_PUBLIC_KEY: vendor.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    BERTH_AIRGAP_PUBLIC_KEY: writeAirgapPublicKey(vendor.airgapKey),
  };
  const behindGap = await startServerHere({ data: join(folder, name), args, env });
  started.push(behindGap);
  return behindGap;
}

/** As a program on the machine asks that is no browser, which `fetch` looks like. */
async function ask({ url }: Server, method: string, path: string, fields: object = {}) {
  const body = JSON.stringify(fields);
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(body)}`;
  const answer = await exchange(url, `${head}\r\nConnection: close\r\n\r\n${body}`);
  return JSON.parse(answer.text) as Record<string, unknown>;
}

/** Installs the policy with the code that the vendor gave for this hardware id. */
function activate(behindGap: Server, hardwareId: string, fields: object = {}) {
  return ask(behindGap, 'POST', '/api/v4/airgap/license', {
    license_key: KEY,
    policy_id: '4711',
    license_policy: vendor.policy({ date: '2026-01-10T00:00:00.000Z' }),
    confirmation_code: vendor.confirm(hardwareId, KEY, '4711'),
    ...fields,
  });
}

async function lends(behindGap: Server, user: string): Promise<boolean> {
  return (await ask(behindGap, 'POST', '/api/v4/register', { user })).license_key === KEY;
}

describe('attacks on codes', () => {
  test('a second server by --hardware-id: no id is set or changed after an activation', async () => {
    const first = await startBehindGap('made');
    const { hardware_id } = await ask(first, 'GET', '/api/admin/status');
    assert.equal((await activate(first, String(hardware_id))).license_key, KEY);
    await first.stop();
    await assert.rejects(startBehindGap('made', '--hardware-id', 'second'), /activated without internet/);
    const again = await startBehindGap('made');
    assert.ok(await lends(again, 'ada'), 'what it had made for itself stays as it is');
    await again.stop();
  });

  test('a container activated under a configured id keeps it, and accepts no other', async () => {
    const first = await startBehindGap('chosen', '--hardware-id', 'box-1');
    assert.equal((await activate(first, 'box-1')).license_key, KEY);
    await first.stop();
    await assert.rejects(startBehindGap('chosen', '--hardware-id', 'box-2'), /Set hardwareId to box-1/);
    const again = await startBehindGap('chosen', '--hardware-id', 'box-1');
    assert.ok(await lends(again, 'ada'));
    await again.stop();
  });

  test('a confirmation code split elsewhere: the policy decides', async () => {
    const behindGap = await startBehindGap('shifted', '--hardware-id', 'box-1');
    const confirmation_code = vendor.confirm('box-1', KEY, '4711');
    for (const license_key of [KEY, '', undefined]) {
      const license_policy = vendor.policy({ id: 711, license_key, date: '2026-01-10T00:00:00.000Z' });
      const shifted = { license_key: `${KEY}4`, policy_id: '711', license_policy, confirmation_code };
      const { code } = await activate(behindGap, 'box-1', shifted);
      assert.equal(code, 'airgap_policy_mismatch', String(license_key));
    }
    await behindGap.stop();
  });
});
