import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { askBerth, runBerth } from '../support/berth-command.ts';
import { pollUntil } from '../support/poll.ts';
import { findForms } from '../support/secret-search.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { describeStores } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';
import { openWebhookReceiver } from '../support/webhook-receiver.ts';

const SECRET = randomBytes(32).toString('base64');

async function openSite(t: TestContext) {
  const data = temporaryFolder(t);
  await seedLicenses(data, [testLicense(1, { slots: 1 })]);
  const receiver = await openWebhookReceiver(t);
  const args = ['--webhooks-url', receiver.url, '--log-level', 'debug', '--log-requests'];
  const start = async () => {
    const server = await startServerProcess({ data, args, env: { BERTH_WEBHOOKS_SECRET: SECRET } });
    t.after(() => server.stop('SIGKILL'));
    return server;
  };
  const startHere = async () => {
    const env = { BERTH_WEBHOOKS_SECRET: SECRET };
    const server = await startServerHere({ data, args: ['--webhooks-url', receiver.url], env });
    t.after(server.stop);
    return server;
  };
  return { data, receiver, start, startHere, args };
}

async function ask(url: string, ...users: readonly string[]): Promise<void> {
  for (const user of users) {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/api/v4/register`, { method: 'POST', headers, body: JSON.stringify({ user }) });
  }
}

interface Status {
  readonly webhooks: { readonly state: string; readonly waiting: number; readonly delivered: number };
}

describeStores('webhooks of a server', () => {
  test('come at least once and in order, even if the server is killed while it sends', async (t) => {
    const { receiver, start, startHere } = await openSite(t);
    const first = await start();
    receiver.react({ status: 200 }, 'hang');
    await ask(first.url, 'holder', 'a', 'b', 'c');
    await receiver.arrived(2);
    await first.stop('SIGKILL');
    assert.deepEqual(receiver.users, ['a', 'b']);
    const second = await startHere();
    await receiver.arrived(4);
    await ask(second.url, 'd');
    await receiver.arrived(5);
    assert.deepEqual(receiver.users, ['a', 'b', 'b', 'c', 'd']);
    assert.equal(receiver.ids[1], receiver.ids[2], 'the same event has the same id');
    assert.equal(new Set(receiver.ids).size, 4);
  });
});

describe('webhooks of a real server', () => {
  test('wait for a receiver that is away, and a stop does not wait for it', async (t) => {
    const { data, receiver, start, startHere } = await openSite(t);
    const server = await start();
    receiver.react('hang');
    await ask(server.url, 'holder', 'a');
    await receiver.arrived(1);
    assert.equal(await server.stop(), 0);
    assert.doesNotMatch(server.readLog(), /does not accept events/, 'it was not waited for');
    const stopped = await askBerth<Status>(data, ['status', '--webhooks-url', receiver.url]);
    assert.deepEqual([stopped.webhooks.state, stopped.webhooks.waiting], ['untried', 1]);
    await startHere();
    await receiver.arrived(2);
    assert.equal(receiver.ids[0], receiver.ids[1]);
    await pollUntil('it is noted', async () => {
      const { webhooks } = await askBerth<Status>(data, ['status']);
      return (webhooks.state === 'ok' && webhooks.delivered === 1) || undefined;
    });
  });

  test('show their secret to nobody', async (t) => {
    const { data, receiver, start, args } = await openSite(t);
    const server = await start();
    receiver.react({ status: 500 });
    await ask(server.url, 'holder', 'a');
    await receiver.arrived(2);
    const env = { BERTH_WEBHOOKS_SECRET: SECRET };
    const seen: [string, string | Buffer][] = [];
    for (const words of [
      ['status'],
      ['config', ...args],
      ['config', '--json', ...args],
      ['audit', 'list'],
      ['--help'],
    ]) {
      const { stdout, stderr } = await runBerth(data, words, env);
      assert.notEqual(stdout, '');
      seen.push([words.join(' '), stdout + stderr]);
    }
    for (const path of ['/api/v4/openapi.json', '/api/v4/docs', '/api/v4/health']) {
      seen.push([path, await (await fetch(`${server.url}${path}`)).text()]);
    }
    for (const { headers, body } of receiver.requests)
      seen.push(['a request', JSON.stringify(headers) + body]);
    const closed = once(server.child, 'close');
    assert.equal(await server.stop(), 0);
    await closed;
    seen.push(['the log', server.readLog()]);
    for (const name of readdirSync(data)) seen.push([name, readFileSync(join(data, name))]);
    const finds = seen.flatMap(([where, what]) =>
      findForms(Buffer.from(what), SECRET).map((form) => `${form} in ${where}`),
    );
    assert.deepEqual(finds, []);
    assert.ok(seen.length > 12);
  });
});

describe('invalid settings of webhooks', () => {
  const url = 'http://127.0.0.1:9999/hook';
  const wrong: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>, RegExp])[] = [
    ['no secret', ['--webhooks-url', url], {}, /^"webhooks\.url" needs a secret .*BERTH_WEBHOOKS_SECRET/],
    ['a short one', ['--webhooks-url', url], { BERTH_WEBHOOKS_SECRET: 'x'.repeat(31) }, /shorter than 32/],
    [
      'no such file',
      ['--webhooks-url', url, '--webhooks-secret-file', '/none'],
      {},
      /cannot be read\. The file \/none does not exist\./,
    ],
    [
      'another protocol',
      ['--webhooks-url', 'ftp://a/'],
      { BERTH_WEBHOOKS_SECRET: SECRET },
      /begins with https/,
    ],
    [
      'a password',
      ['--webhooks-url', 'http://a:b@c/'],
      { BERTH_WEBHOOKS_SECRET: SECRET },
      /must not contain a user/,
    ],
    [
      'an unknown event',
      ['--webhooks-events', 'slot_lent'],
      {},
      /cannot hold "slot_lent". Allowed: slot_denied,/,
    ],
  ];
  for (const [what, words, env, sentence] of wrong) {
    test(`${what}: the server does not start, and says why`, async (t) => {
      const { code, stderr } = await runBerth(temporaryFolder(t), ['serve', '--port', '0', ...words], env);
      assert.equal(code, 2);
      assert.match(stderr.trim(), sentence);
      assert.doesNotMatch(stderr, /\n {4}at |xxxx/);
    });
  }

  test('a secret in a file works as well', async (t) => {
    const file = join(temporaryFolder(t), 'secret');
    writeFileSync(file, `${SECRET}\n`);
    const args = ['--webhooks-url', url, '--webhooks-secret-file', file];
    const server = await startServerHere({ data: temporaryFolder(t), args });
    await server.stop();
  });
});
