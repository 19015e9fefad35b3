import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { pollUntil } from '../support/poll.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { startBefore } from '../support/start-before.ts';

interface Status {
  readonly hardware_id: string;
  readonly cloud: { readonly state: string; readonly url: string | null; readonly error: unknown };
}

async function isReachable(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

/** Counts one, and answers the total. */
async function count(url: string): Promise<number> {
  const body = '{"product": "demo"}';
  const answer = await fetch(`${url}/api/v4/add_consumption`, { method: 'POST', body });
  return ((await answer.json()) as { total_consumptions: number }).total_consumptions;
}

async function post(url: string, path: string, body: object): Promise<number> {
  return (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).status;
}

describe('serve --demo-cloud', () => {
  test('connects a server and a cloud; stopped or killed, it leaves no cloud behind', async (t) => {
    const data = temporaryFolder(t);
    const first = await startServerProcess({ data, args: ['--demo-cloud'] });
    t.after(() => first.stop('SIGKILL'));
    assert.equal(await post(first.url, '/api/v4/register', { product: 'demo', user: 'ada' }), 200);
    assert.equal(await count(first.url), 1);
    assert.equal((await runBerth(data, ['license', 'sync'])).code, 0);
    const { cloud } = await askBerth<Status>(data, ['status']);
    assert.equal(cloud.state, 'ok');
    const { licenses } = await askBerth<{ licenses: readonly { id: number }[] }>(data, ['license', 'list']);
    const shown = await runBerth(data, ['license', 'show', String(licenses[0]?.id)]);
    assert.match(shown.stdout, /^cloud answers +bound to requests$/m);
    assert.equal(await isReachable(cloud.url as string), true);
    assert.equal(await first.stop(), 0);
    assert.equal(await isReachable(cloud.url as string), false);

    const second = await startServerProcess({ data, args: ['--demo-cloud'] });
    t.after(() => second.stop('SIGKILL'));
    assert.equal(await count(second.url), 2, 'the license continues');
    const { cloud: again } = await askBerth<Status>(data, ['status']);
    await second.stop('SIGKILL');
    await pollUntil('the cloud is gone', async () =>
      (await isReachable(again.url as string)) ? undefined : true,
    );
  });
});

test('serve --demo-cloud does not replace the keys of a real cloud', async (t) => {
  const data = temporaryFolder(t);
  await seedLicenses(data, []);
  await runBerth(data, ['key', 'set'], {}, 'real-api-key\nreal-shared-key\n');
  const before = (await runBerth(data, ['key', 'show'])).stdout;
  for (let n = 0; n < 2; n++) {
    const { code, stderr } = await runBerth(data, ['serve', '--port', '0', '--demo-cloud']);
    assert.equal(code, 1);
    assert.match(stderr, /This data folder has the keys of another cloud/);
  }
  assert.equal((await runBerth(data, ['key', 'show'])).stdout, before);
});

describe('licenses from the cloud, on the command line', () => {
  let cloud: RunningCloud;
  let link: Readonly<Record<string, string>>;
  startBefore(async (life) => {
    cloud = await startCloudHere(life);
    link = { BERTH_CLOUD_URL: cloud.url, BERTH_CLOUD_PUBLIC_KEY: cloud.publicKeyFile };
  });

  async function setUp(t: TestContext) {
    const data = temporaryFolder(t);
    const server = await startServerHere({ data, env: link });
    t.after(server.stop);
    const { apiKey, sharedKey } = cloud.keys;
    assert.equal((await runBerth(data, ['key', 'set'], {}, `${apiKey}\n${sharedKey}\n`)).code, 0);
    return { data, server, key: await cloud.grant('cad', '--slots', '3') };
  }

  test('are added, synced and removed, with the server running or stopped', async (t) => {
    const { data, server, key } = await setUp(t);
    const add = ['license', 'add', 'cad', '--license-key', key];
    const running = await runBerth(data, add);
    assert.match(running.stdout, /^Added license \d+ for "cad" with 3 slots\.\n$/);
    const before = await askBerth<Status>(data, ['status']);
    await server.stop();
    assert.equal((await runBerth(data, add, link)).stdout, running.stdout);
    assert.equal((await askBerth<Status>(data, ['status'], link)).hardware_id, before.hardware_id);
    const { id } = await cloud.showLicense(key);
    const synced = await runBerth(data, ['license', 'sync'], link);
    assert.equal(synced.code, 0);
    assert.match(synced.stdout, new RegExp(`^license +product\\n${id} +cad +in sync\\n$`));
    const removed = await runBerth(data, ['license', 'remove', String(id)], link);
    assert.equal(removed.stdout, `Removed license ${id} for "cad".\n`);
    assert.equal((await cloud.showLicense(key)).activations, 0);
  });

  test('a key, or a password, may come from standard input', async (t) => {
    const { data, key } = await setUp(t);
    assert.equal((await runBerth(data, ['license', 'add', 'cad'], {}, `${key}\n`)).code, 0);
    await cloud.run('product', 'create', 'cam', '--authorization', 'user');
    const flags = ['license', 'create', '--product', 'cam', '--slots', '1', '--user', 'ann'];
    await cloud.runWith('correct horse battery', ...flags);
    const add = ['license', 'add', 'cam', '--user', 'ann'];
    const wrong = await runBerth(data, add, {}, 'a wrong guess\n');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^The licensing cloud refused: /);
    assert.equal((await runBerth(data, add, {}, 'correct horse battery\n')).code, 0);
  });

  test('a copy of the data on another machine cannot act for the original', async (t) => {
    const { data, server, key } = await setUp(t);
    await runBerth(data, ['license', 'add', 'cad', '--license-key', key]);
    await server.stop();
    const copy = join(temporaryFolder(t), 'copy');
    cpSync(data, copy, { recursive: true });
    const env = { ...link, BERTH_HARDWARE_ID: 'another-machine' };
    const { id } = await cloud.showLicense(key);
    for (const words of [
      ['license', 'sync'],
      ['license', 'remove', String(id)],
    ]) {
      const { code, stderr } = await runBerth(copy, words, env);
      assert.equal(code, 1);
      assert.match(stderr, /^The server last ran with hardware id [0-9a-f]{64}; here it would be/);
    }
    assert.equal((await cloud.showLicense(key)).activations, 1);
  });

  test('without a cloud the commands say what to do', async (t) => {
    const data = temporaryFolder(t);
    const server = await startServerHere({ data });
    t.after(server.stop);
    for (const words of [
      ['license', 'sync'],
      ['license', 'add', 'cad', '--license-key', 'K'],
    ]) {
      const { code, stderr } = await runBerth(data, words);
      assert.equal(code, 1);
      assert.match(stderr, /^No licensing cloud is configured\. Set cloud\.url and cloud\.publicKey/);
    }
  });
});

describe('an unusable cloud prevents the start', () => {
  const WRONG: Readonly<Record<string, readonly [Readonly<Record<string, string>>, RegExp]>> = {
    'no public key': [{ BERTH_CLOUD_URL: 'https://cloud.test' }, /"cloud\.url" needs "cloud\.publicKey"/],
    'no key at all': [
      { BERTH_CLOUD_URL: 'https://cloud.test', BERTH_CLOUD_PUBLIC_KEY: 'nonsense' },
      /"cloud\.publicKey" is neither an RSA public key/,
    ],
    'no address': [{ BERTH_CLOUD_URL: 'cloud' }, /"cloud\.url" must be a URL/],
    'something behind the address': [
      { BERTH_CLOUD_URL: 'https://cloud.test/?key=secret' },
      /"cloud\.url" must only contain an address/,
    ],
  };

  test('credentials in the address are refused by every command, and shown by none', async (t) => {
    const env = { BERTH_CLOUD_URL: 'https://key:secret@cloud.test' };
    for (const words of [['serve', '--port', '0'], ['config']]) {
      const { code, stdout, stderr } = await runBerth(temporaryFolder(t), words, env);
      assert.equal(code, 2);
      assert.match(stderr, /^"cloud\.url" must not contain a user name or a password/);
      assert.doesNotMatch(stdout + stderr, /secret/);
    }
  });

  for (const [title, [env, expected]] of Object.entries(WRONG)) {
    test(title, async (t) => {
      const data = join(temporaryFolder(t), 'data');
      const { code, stderr } = await runBerth(data, ['serve', '--port', '0'], env);
      assert.equal(code, 1);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /secret| at /);
    });
  }
});
