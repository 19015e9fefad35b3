import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  LOCAL,
  openTestApp,
  readTraces,
  type SendOptions,
  type TestApp,
} from '../../../../test/support/test-app.ts';
import type { AdminRules } from './caller.ts';
import { ACCESS, type Route } from './route.ts';

/** How somebody comes to the server, and whether that makes them its administrator. */
interface Visit {
  readonly request: SendOptions;
  readonly isAdmin: boolean;
  readonly rules?: Partial<AdminRules>;
}

const refusedLocal = (headers: Record<string, string>): Visit => ({
  request: { peer: LOCAL, headers },
  isAdmin: false,
});

const VISITS: Readonly<Record<string, Visit>> = {
  'from this machine': { request: { peer: LOCAL }, isAdmin: true },
  'from this machine over IPv6': {
    request: { peer: { address: '::1', isControl: false }, headers: { host: '[::1]:8080' } },
    isAdmin: true,
  },
  'over the socket in the data folder': { request: { peer: CONTROL }, isAdmin: true },
  'over the socket, whatever the headers': {
    request: { peer: CONTROL, headers: { authorization: 'Bearer x', origin: 'http://evil.example' } },
    isAdmin: true,
  },
  'from elsewhere': { request: { peer: FOREIGN }, isAdmin: false },
  'from elsewhere, with a loopback Host': {
    request: { peer: FOREIGN, headers: { host: '127.0.0.1' } },
    isAdmin: false,
  },
  'from no known address': { request: { peer: { address: '', isControl: false } }, isAdmin: false },
  'to a server that others reach too': {
    request: { peer: LOCAL },
    isAdmin: false,
    rules: { isLoopbackOnly: false },
  },
  'through a proxy: X-Forwarded-For': refusedLocal({ 'x-forwarded-for': '203.0.113.9' }),
  'through a proxy: X-Forwarded-Proto': refusedLocal({ 'x-forwarded-proto': 'https' }),
  'through a proxy: Forwarded': refusedLocal({ forwarded: 'for=203.0.113.9' }),
  'through a proxy: X-Real-IP': refusedLocal({ 'x-real-ip': '203.0.113.9' }),
  'through a proxy: Via': refusedLocal({ via: '1.1 proxy' }),
  'by a page in a browser: Origin': refusedLocal({ origin: 'http://localhost:8080' }),
  'by a page in a browser: a null Origin': refusedLocal({ origin: 'null' }),
  'by a page in a browser: Sec-Fetch-Site': refusedLocal({ 'sec-fetch-site': 'same-origin' }),
  'by a page in a browser: Sec-Fetch-Mode': refusedLocal({ 'sec-fetch-mode': 'no-cors' }),
  'by a page in a browser: Cookie': refusedLocal({ cookie: 'a=b' }),
  'by another name of this address': refusedLocal({ host: 'evil.example:8080' }),
  'by a name that begins like ours': refusedLocal({ host: 'localhost.evil.example' }),
  'by two names at once': refusedLocal({ host: 'localhost, evil.example' }),
  'without a name': refusedLocal({ host: '' }),
  'with a wrong token': refusedLocal({ authorization: `Bearer ${'x'.repeat(43)}` }),
  'with the token of a client that has none': refusedLocal({ authorization: 'Bearer undefined' }),
  'with an empty Authorization': refusedLocal({ authorization: '' }),
  'with a name and a password': refusedLocal({ authorization: 'Basic YWRtaW46YWRtaW4=' }),
};

function callsOf({ methods, paths }: Route): readonly (readonly [string, string])[] {
  return paths.flatMap((path) => methods.map((method) => [method, path] as const));
}

/** Calls every path of every route, and holds the answer to what the route's class promises. */
async function walk(app: TestApp, { request, isAdmin }: Omit<Visit, 'rules'>): Promise<void> {
  for (const route of app.routes) {
    for (const [method, path] of callsOf(route)) {
      const before = await readTraces(app.store);
      const body = method === 'POST' ? { body: {} } : {};
      const answer = await app.send(method, path, { ...request, ...body });
      const what = `${method} ${path}: ${answer.status} ${answer.text}`;
      assert.equal(answer.headers.get('www-authenticate'), null, what);
      if (ACCESS[route.access].class === 'admin' && !isAdmin) {
        assert.equal(answer.status, 401, what);
        assert.equal(answer.body.code, 'unauthorized', what);
        assert.match(answer.body.message as string, /\/auth/, what);
        assert.deepEqual(await readTraces(app.store), before, what);
      } else if (route.name === 'auth') {
        assert.match(answer.body.message as string, /HTTP Basic|name or the password/, what);
      } else {
        assert.ok(answer.status === 200 || answer.status === 400, what);
      }
    }
  }
}

async function signIn(app: TestApp): Promise<string> {
  const password = await createAdministrator(app.accounts);
  const token = await app.accounts.signIn('admin', password, FOREIGN.address);
  assert.ok(token !== null);
  return token;
}

describe('every route, called', () => {
  for (const [how, visit] of Object.entries(VISITS)) {
    test(how, async (t) => {
      const app = await openTestApp(t, { rules: visit.rules ?? {} });
      await app.post('/api/v4/register', { user: 'ann' });
      await walk(app, visit);
    });
  }

  test('with a token, from anywhere and in spite of every header', async (t) => {
    const app = await openTestApp(t, { rules: { localAdmin: 'never', isLoopbackOnly: false } });
    const authorization = `Bearer ${await signIn(app)}`;
    const headers = { authorization, host: 'berth.example', 'x-forwarded-for': '10.0.0.1' };
    await walk(app, { request: { peer: FOREIGN, headers }, isAdmin: true });
  });
});

describe('a caller on this machine', () => {
  /** Whether they administrate, before and after the one-time password was replaced. */
  const expected = {
    setup: { during: true, after: false },
    always: { during: true, after: true },
    never: { during: false, after: false },
  };

  for (const [localAdmin, { during, after }] of Object.entries(expected)) {
    for (const [isSetUp, isAdmin] of [
      [false, during],
      [true, after],
    ] as const) {
      const when = isSetUp ? 'after setup' : 'during setup';
      test(`with localAdmin "${localAdmin}" ${when}`, async (t) => {
        const app = await openTestApp(t, { rules: { localAdmin: localAdmin as AdminRules['localAdmin'] } });
        const account = { name: 'admin', role: 'admin', passwordHash: 'x', by: 'test' } as const;
        await app.store.execute({ kind: 'create_account', ...account, oneTime: !isSetUp });
        await walk(app, { request: { peer: LOCAL }, isAdmin });
      });
    }
  }

  test('is still only a name for the audit: local, control or the account', async (t) => {
    const app = await openTestApp(t);
    const authorization = `Bearer ${await signIn(app)}`;
    const visits: SendOptions[] = [{}, { peer: CONTROL }, { headers: { authorization } }];
    for (const visit of visits) {
      await app.post('/api/v4/register', { user: 'ann' });
      const release = await app.post('/api/admin/registrations/release', { user: 'ann' }, visit);
      assert.deepEqual(release.body, { released: 1 });
    }
    const { audit } = await readTraces(app.store);
    const events = audit.toReversed().flatMap((link) => link.events);
    const by = events.flatMap((event) => (event.kind === 'slot_returned' ? [event.by] : []));
    assert.deepEqual(by, ['local', 'control', 'admin']);
  });
});
