import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { runBerth } from '../../support/berth-command.ts';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { openWebhookReceiver } from '../../support/webhook-receiver.ts';

/** Attacks by whoever may say where messages and events go: the server can reach more than they can. */

interface Tested {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

const REFUSED = /has an address that this server does not post to \(see "notify\.privateAddresses"/;

async function openSite(t: TestContext, ...args: readonly string[]) {
  const data = join(temporaryFolder(t), 'data');
  await seedLicenses(data, []);
  const env = { BERTH_WEBHOOKS_SECRET: randomBytes(32).toString('hex') };
  const server = await startServerHere({ data, args, env });
  t.after(server.stop);
  const post = async (path: string, body: object) => {
    const response = await fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as Tested;
  };
  return {
    data,
    /** What an administrator gets to know about an address. */
    async probe(url: string): Promise<readonly Tested[]> {
      await post('/api/admin/settings', { changes: { 'webhooks.url': url } });
      await post('/api/admin/channels', { name: 'chat', kind: 'slack', url });
      return [
        await post('/api/admin/webhooks/test', {}),
        await post('/api/admin/channels/test', { name: 'chat' }),
      ];
    },
  };
}

/** A service that counts connections. */
async function openCounter(t: TestContext) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, count: () => connections };
}

describe('attacks by addresses of receivers', () => {
  test('where a cloud tells machines their secrets is not asked, however it is written', async (t) => {
    const { probe } = await openSite(t);
    for (const host of ['169.254.169.254', '2852039166', '[::ffff:169.254.169.254]', '[fe80::1]'])
      for (const { delivered, error } of await probe(`http://${host}:1/latest/meta-data/iam`)) {
        assert.equal(delivered, false);
        assert.match(error ?? '', REFUSED, host);
      }
  });

  test('services of the machine and its network get nothing, by any name, if they are private', async (t) => {
    const { data, probe } = await openSite(t, '--no-notify-private-addresses');
    const { port, count } = await openCounter(t);
    const hosts = ['127.0.0.1', 'localhost', '2130706433', '0.0.0.0', '[::1]', '[::ffff:7f00:1]', '10.0.0.1'];
    for (const url of [...hosts.map((host) => `http://${host}:${port}/`), `https://localhost:${port}/`])
      for (const { error } of await probe(url)) assert.match(error ?? '', REFUSED, url);
    const mail = ['--kind', 'mail', '--to', 'ops@example.com', '--from', 'berth@example.com'];
    for (const [name, host] of Object.entries({ one: '127.0.0.1', two: 'localhost' })) {
      await runBerth(data, [
        'notify',
        'add',
        name,
        ...mail,
        '--security',
        'none',
        '--server',
        `${host}:${port}`,
      ]);
      const { stdout, stderr } = await runBerth(data, ['notify', 'test', name]);
      assert.match(stdout + stderr, REFUSED, host);
    }
    assert.equal(count(), 0);
    const refused = await runBerth(data, ['config', 'set', 'notify.privateAddresses', 'true']);
    assert.match(refused.stderr, /"notify\.privateAddresses" is fixed by --notify-private-addresses/);
  });

  test('what a service answers is not shown, not even a word, and a redirect is not followed', async (t) => {
    const { probe } = await openSite(t);
    const [service, hidden] = [await openWebhookReceiver(t), await openWebhookReceiver(t)];
    const secret = 'secret_of_the_service';
    const answer = { status: 500, text: secret };
    service.react(answer, answer);
    for (const tested of await probe(service.url)) {
      assert.equal(tested.status, 500);
      assert.doesNotMatch(JSON.stringify(tested), new RegExp(secret));
    }
    const redirect = { status: 307, headers: { location: hidden.url } };
    service.react(redirect, redirect);
    for (const { status } of await probe(service.url)) assert.equal(status, 307);
    assert.deepEqual(hidden.requests, []);
  });
});
