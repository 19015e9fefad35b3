import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { before, describe, type TestContext, test } from 'node:test';
import { runBerth } from '../../support/berth-command.ts';
import { ensureTool } from '../../support/install-tools.ts';
import { startBefore } from '../../support/start-before.ts';
import { curl } from './curl.ts';
import { startNginx } from './nginx.ts';
import {
  addAccount,
  createToken,
  type FreshServer,
  OWN_PASSWORD,
  replacePassword,
  signIn,
  startFreshServer,
} from './set-up-server.ts';
import { expectFates, fateOf, makeCalls, makeSevenCalls, makeVisits, type Visit } from './seven-calls.ts';
import { connectTwoMachines, type TwoMachines } from './two-machines.ts';

const SENT_AWAY = '401 unauthorized';

let hasCurl: boolean;
let hasNginx: boolean;
before(async () => {
  hasCurl = await ensureTool('curl');
  hasNginx = await ensureTool('nginx');
});

type Clients = 'open' | 'required';

/** What becomes of whoever shows nothing, where the server takes nobody for its administrator. */
function strangerOf(clients: Clients) {
  return expectFates({ clients: clients === 'open' ? 'in' : SENT_AWAY, admins: SENT_AWAY });
}

const USER = expectFates({ clients: 'in', admins: '403 forbidden' });
const ADMINISTRATOR = expectFates({ clients: 'in', admins: 'in' });

/** A server that was set up lets in whoever shows the right thing, from wherever, and nobody else. */
async function checkEverybody(server: FreshServer, visits: readonly Visit[], clients: Clients) {
  const { data } = server;
  for (const visit of visits) {
    assert.deepEqual(await makeSevenCalls(visit), strangerOf(clients), `nothing, ${visit.url}`);
  }
  await checkNoKeys(server);
  await addAccount(data, 'app', 'user');
  const [first, last] = [visits[0], visits.at(-1)] as [Visit, Visit];
  const tokens = [
    ['a token that was made', await createToken(data, 'user'), USER],
    ['the token of a user', await signIn(first.url, 'app', OWN_PASSWORD, first.under), USER],
    [
      'the token of an administrator',
      await signIn(last.url, 'admin', OWN_PASSWORD, last.under),
      ADMINISTRATOR,
    ],
  ] as const;
  for (const visit of visits) {
    for (const [what, token, fates] of tokens) {
      assert.deepEqual(await makeSevenCalls({ ...visit, token }), fates, `${what}, ${visit.url}`);
    }
  }
  const old = await curl([`${last.url}/auth`, '-u', `admin:${server.oneTimePassword}`], last.under);
  assert.equal(fateOf(old), SENT_AWAY, 'the password that was replaced');
}

/** Sent away is sent away: the keys of the last call are not there. */
async function checkNoKeys({ data }: FreshServer): Promise<void> {
  const { stdout } = await runBerth(data, ['key', 'show']);
  assert.match(stdout, /^API key +not set\nshared key +not set\n/);
}

async function startOnServer(t: TestContext, machines: TwoMachines, host: string, clients: Clients) {
  const args = ['--host', host, '--auth-clients', clients];
  return startFreshServer(t, { args, under: machines.onServer });
}

for (const clients of ['open', 'required'] as const) {
  /** What is the default is not said. */
  const args = clients === 'open' ? [] : ['--auth-clients', clients];

  describe(`the seven calls on the machine itself, where auth.clients is ${clients}`, () => {
    test('before the password is replaced', async (t) => {
      if (!hasCurl) return t.skip('optional: needs curl');
      const server = await startFreshServer(t, { args });
      const expected = expectFates({ clients: clients === 'open' ? 'in' : SENT_AWAY, admins: 'in' });
      assert.deepEqual(await makeSevenCalls({ url: server.url }), expected);
      const token = await createToken(server.data, 'user');
      assert.deepEqual(await makeSevenCalls({ url: server.url, token }), USER, 'credentials decide alone');
    });

    test('after it, directly and through a plain nginx', async (t) => {
      if (!hasCurl) return t.skip('optional: needs curl');
      const server = await startFreshServer(t, { args });
      const proxied = hasNginx ? [await startNginx(t, server.url)] : [];
      await replacePassword(server);
      await checkEverybody(server, [server, ...proxied], clients);
    });
  });

  describe(`the seven calls, where auth.clients is ${clients}`, () => {
    test('through an nginx that does not hide, before it', async (t) => {
      if (!hasCurl) return t.skip('optional: needs curl');
      if (!hasNginx) return t.skip('optional: needs nginx');
      const server = await startFreshServer(t, { args });
      const { announced } = await startNginx(t, server.url);
      for (const [how, url] of Object.entries(announced)) {
        const visit = { url, words: ['-H', 'Host: licenses.example'] };
        assert.deepEqual(await makeSevenCalls(visit), strangerOf(clients), how);
      }
      await checkNoKeys(server);
    });

    test('from another machine, before the password is replaced and after', async (t) => {
      if (!hasCurl) return t.skip('optional: needs curl');
      const machines = await connectTwoMachines(t);
      if (machines === null) return t.skip('optional: needs network namespaces');
      const server = await startOnServer(t, machines, machines.serverAddress, clients);
      const { url, oneTimePassword } = server;
      const visit = { url, under: machines.onClient };
      assert.deepEqual(await makeSevenCalls(visit), strangerOf(clients));
      const near = { url, under: machines.onServer };
      assert.deepEqual(await makeSevenCalls(near), strangerOf(clients), 'from the machine itself');
      await checkNoKeys(server);
      const first = await signIn(url, 'admin', oneTimePassword, machines.onClient);
      const query = new URLSearchParams({ passwordOld: oneTimePassword, passwordNew: OWN_PASSWORD });
      const words = [`${url}/api/v4/setPassword?${query}`, '-H', `Authorization: Bearer ${first}`];
      assert.equal(fateOf(await curl(words, machines.onClient)), '200');
      await checkEverybody(server, [visit], clients);
    });

    test('to a server on all addresses, before the password is replaced', async (t) => {
      if (!hasCurl) return t.skip('optional: needs curl');
      const machines = await connectTwoMachines(t);
      if (machines === null) return t.skip('optional: needs network namespaces');
      const server = await startOnServer(t, machines, '0.0.0.0', clients);
      const { port } = new URL(server.url);
      for (const [under, host] of [
        [machines.onClient, machines.serverAddress],
        [machines.onServer, machines.serverAddress],
        [machines.onServer, '127.0.0.1'],
        [machines.onServer, 'localhost'],
      ] as const) {
        const visit = { url: `http://${host}:${port}`, under };
        assert.deepEqual(await makeSevenCalls(visit), strangerOf(clients), `${host} ${under}`);
      }
      await checkNoKeys(server);
    });
  });
}

describe('a caller on the machine itself during setup', () => {
  /** By what they say the server is called. */
  const HOSTS: readonly (readonly [string, 'in' | 'out'])[] = [
    ['localhost', 'in'],
    ['LOCALHOST', 'in'],
    ['LocalHost:8080', 'in'],
    ['127.0.0.1', 'in'],
    ['127.0.0.1:8080', 'in'],
    ['[::1]', 'in'],
    ['[::1]:8080', 'in'],
    ['localhost.', 'out'],
    ['LOCALHOST.:8080', 'out'],
    ['localhost.example', 'out'],
    ['127.0.0.1.example', 'out'],
    ['licenses.example', 'out'],
    ['127.1', 'out'],
    ['2130706433', 'out'],
    ['127.0.0.2', 'out'],
    ['0.0.0.0', 'out'],
    ['[::]', 'out'],
    ['[::ffff:7f00:1]', 'out'],
  ];

  const CALLS = ['register', 'license/generate'] as const;

  async function visitFrom(visit: Visit) {
    return (await makeCalls(CALLS, visit)).map(fateOf);
  }

  let url: string;
  startBefore(async (life) => {
    ({ url } = await startFreshServer(life));
  });

  test('is recognized by the name used for the server', async (t) => {
    if (!hasCurl) return t.skip('optional: needs curl');
    const visits = HOSTS.flatMap(([host, fate]) =>
      ['--http1.1', '--http1.0'].map((version) => ({
        url,
        words: [version, '-H', `Host: ${host}`],
        fate,
        version,
      })),
    );
    const answers = await makeVisits(CALLS, visits);
    for (const [index, { words, fate, version }] of visits.entries()) {
      // HTTP/1.0 is what proxies speak.
      const isIn = fate === 'in' && version === '--http1.1';
      assert.deepEqual(answers[index]?.map(fateOf), ['200', isIn ? '200' : SENT_AWAY], words.join(' '));
    }
    const nameless = await visitFrom({ url, words: ['--http1.0', '-H', 'Host:'] });
    assert.deepEqual(nameless, ['200', SENT_AWAY], 'HTTP/1.0 without a name');
  });

  test('is recognized by the source address', async (t) => {
    if (!hasCurl) return t.skip('optional: needs curl');
    if (process.platform !== 'linux') return t.skip('optional: needs Linux');
    assert.deepEqual(await visitFrom({ url, words: ['--interface', '127.0.0.1'] }), ['200', '200']);
    assert.deepEqual(await visitFrom({ url, words: ['--interface', '127.0.0.2'] }), ['200', SENT_AWAY]);
  });

  test('may also come over IPv6', async (t) => {
    if (!hasCurl) return t.skip('optional: needs curl');
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    if (!addresses.some(({ address }) => address === '::1')) return t.skip('optional: needs IPv6');
    const { url } = await startFreshServer(t, { args: ['--host', '::1'] });
    assert.match(url, /^http:\/\/\[::1\]:\d+$/);
    assert.deepEqual(await makeSevenCalls({ url }), ADMINISTRATOR);
    const named = await visitFrom({ url, words: ['-H', 'Host: licenses.example'] });
    assert.deepEqual(named, ['200', SENT_AWAY]);
  });
});
