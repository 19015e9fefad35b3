import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { openHostileProvider } from '../../support/openid/hostile-provider.ts';
import { CLIENT } from '../../support/openid/real-provider.ts';
import { openSignInSite, PAGE } from '../../support/openid/sign-in-site.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  openTestApp,
  readTraces,
  type TestApp,
} from '../../support/test-app.ts';
import { OWN_PASSWORD, replacePassword, startFreshProcess } from '../doors/set-up-server.ts';

/** Signs in from one of the addresses of this machine, and answers the status. */
function signIn(url: string, from: string, name: string, password: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  const options = { headers: { authorization }, agent: new Agent(), localAddress: from };
  const outgoing = request(`${url}/auth`, options, (incoming) => {
    incoming.resume().once('end', () => resolve(incoming.statusCode as number));
  });
  outgoing.on('error', reject).end();
  return promise;
}

const ATTACKERS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
const GUESSES_AT_ONCE = 8;

/** Keeps so many guesses of each attacker under way, each for another name, until it is told to stop. */
function startGuessing(url: string) {
  const state = { completed: 0, isStopped: false };
  const { promise: underWay, resolve: begun } = Promise.withResolvers<void>();
  const worker = async (from: string, n: number) => {
    for (let guess = 0; !state.isStopped; guess++) {
      const status = await signIn(url, from, `user-${n}-${guess}`, 'a wrong password');
      if (status === 401) state.completed += 1;
      if (state.completed >= GUESSES_AT_ONCE) begun();
    }
  };
  const ended = Promise.allSettled(
    ATTACKERS.flatMap((from) => Array.from({ length: GUESSES_AT_ONCE }, (_, n) => worker(from, n))),
  );
  return {
    underWay,
    countCompleted: () => state.completed,
    /** What is under way when the server ends gets no answer. */
    async stop(server: ServerProcess) {
      state.isStopped = true;
      await server.stop('SIGKILL');
      await ended;
    },
  };
}

describe('guessing passwords', () => {
  test('sign-in lockout: five addresses that guess without end keep nobody out', async (t) => {
    const server = await startFreshProcess(t);
    const { url } = server;
    await replacePassword(server);
    const guessing = startGuessing(url);
    await guessing.underWay;
    const before = guessing.countCompleted();
    assert.equal(await signIn(url, '127.0.0.6', 'admin', OWN_PASSWORD), 200);
    const waited = guessing.countCompleted() - before;
    // One round of the five, and what was under way; all that wait would be forty.
    assert.ok(waited <= 20, `${waited} guesses were answered before the right password`);
    await guessing.stop(server.process);
  });
});

describe('passwords that everybody tries', () => {
  test('a common password: is refused, however it is set', async (t) => {
    const app = await openTestApp(t);
    const passwordOld = await createAdministrator(app.accounts);
    const common = ['password1234', 'Qwertyuiop12', 'P@ssw0rd!2026', 'aaaaaaaaaaaa', 'berth-admin-2030'];
    for (const password of common) {
      const ways = [
        await app.post('/api/v4/setPassword', { passwordOld, passwordNew: password }),
        await app.post('/api/admin/users/password', { name: 'admin', password }),
        await app.post('/api/admin/users/add', { name: 'ann', role: 'user', password }),
      ];
      for (const { status, body } of ways) {
        assert.equal(status, 400, password);
        assert.match(String(body.message), /easy to guess.* Choose another/, password);
      }
    }
    assert.equal(await app.accounts.isBeingSetUp(), true);
  });
});

describe("a typo in an administrator's request", () => {
  test('a misspelled license_id: the audit log is not thinned out as a whole', async (t) => {
    const app = await openTestApp(t);
    await app.post('/api/v4/register', { user: 'ann' });
    app.clock.advance(60 * 60 * 1000);
    await app.post('/api/v4/register', { user: 'bob' });
    const before = await readTraces(app.store);
    const wish = { before: '2030-01-15T12:30:00Z', licens_id: 1 };
    assert.equal((await app.post('/api/admin/audit/thin', wish)).body.code, 'validation_error');
    assert.deepEqual(await readTraces(app.store), before);
  });

  test('a master key sent as null, blank or misspelled: none is generated instead', async (t) => {
    const app = await openTestApp(t);
    const before = await app.get('/api/admin/keys');
    for (const body of [{ newkey: 'x' }, { new_key: null }, { new_key: ' ' }]) {
      const answer = await app.post('/api/admin/keys/rotate', body);
      assert.equal(answer.body.code, 'validation_error', answer.text);
    }
    assert.deepEqual((await app.get('/api/admin/keys')).body, before.body);
  });

  test('a password sent as null or blank: none is generated instead', async (t) => {
    const app = await openTestApp(t);
    await app.accounts.add({ name: 'ann', role: 'user', password: OWN_PASSWORD }, 'test');
    for (const password of ['', '   ', null]) {
      const answer = await app.post('/api/admin/users/password', { name: 'ann', password });
      assert.equal(answer.body.code, 'validation_error', answer.text);
    }
    assert.ok(await app.accounts.signIn({ name: 'ann', password: OWN_PASSWORD, address: '' }));
  });
});

describe('credentials obtained during setup', () => {
  const OWN_TOKEN = { name: 'backdoor', role: 'admin' };

  async function replace(app: TestApp, passwordOld: string): Promise<void> {
    const { status } = await app.post('/api/v4/setPassword', { passwordOld, passwordNew: OWN_PASSWORD });
    assert.equal(status, 200);
  }

  const statusWith = (app: TestApp, token: unknown) =>
    app.get('/api/admin/status', { peer: FOREIGN, headers: { authorization: `Bearer ${token}` } });

  test('a token made without credentials: useless once setup is over', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const { body } = await app.post('/api/admin/tokens/create', { ...OWN_TOKEN, days: 3650 });
    const other = await app.post('/api/admin/tokens/create', { ...OWN_TOKEN, name: 'ci' }, { peer: CONTROL });
    assert.equal((await statusWith(app, body.token)).status, 200);
    const list = await app.get('/api/admin/tokens');
    assert.match(list.text, /"name":"backdoor".*"restriction":"until_set_up"/);
    await replace(app, password);
    assert.equal((await statusWith(app, body.token)).status, 401);
    assert.equal((await statusWith(app, other.body.token)).status, 200, 'one from the socket goes on');
  });

  const bearer = (token: unknown) => ({ headers: { authorization: `Bearer ${token}` } });

  test('a token made with a token that was made without credentials: also ends with setup', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const first = await app.post('/api/admin/tokens/create', OWN_TOKEN);
    const wish = { name: 'second', role: 'admin', days: 'never' };
    const second = await app.post('/api/admin/tokens/create', wish, bearer(first.body.token));
    assert.equal((await statusWith(app, second.body.token)).status, 200);
    await replace(app, password);
    assert.equal((await statusWith(app, second.body.token)).status, 401);
  });

  test('an account made without credentials: signed out when setup ends, with all its tokens', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const eve = await app.post('/api/admin/users/add', { name: 'eve', role: 'admin' });
    const authorization = `Basic ${Buffer.from(`eve:${eve.body.password}`).toString('base64')}`;
    const { body: signedIn } = await app.get('/auth', { headers: { authorization } });
    const made = await app.post('/api/admin/tokens/create', OWN_TOKEN, bearer(signedIn.token));
    for (const { token } of [signedIn, made.body]) assert.equal((await statusWith(app, token)).status, 200);
    await replace(app, password);
    for (const { token } of [signedIn, made.body]) assert.equal((await statusWith(app, token)).status, 401);
  });

  test('a one-time password that somebody has read: useless after the first sign-in', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
    const sign = () => app.get('/auth', { peer: FOREIGN, headers: { authorization } });
    assert.equal((await statusWith(app, (await sign()).body.token)).status, 200);
    assert.equal((await statusWith(app, (await sign()).body.token)).status, 403);
  });

  test('a one-time password from long ago: useless', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    app.clock.advance(7 * 24 * 60 * 60 * 1000);
    await app.post('/api/admin/clock/accept', {}, { peer: CONTROL });
    const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
    assert.equal((await app.get('/auth', { peer: FOREIGN, headers: { authorization } })).status, 401);
  });
});

describe('credentials that never end', () => {
  test('a token without an end: only on explicit request', async (t) => {
    const app = await openTestApp(t);
    await app.post('/api/admin/tokens/create', { name: 'ci', role: 'user' }, { peer: CONTROL });
    assert.match((await app.get('/api/admin/tokens')).text, /"expires_at":"2031-01-15/);
  });

  test('a browser session that is kept alive: ends after twelve hours', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const body = { name: 'admin', password };
    const started = await app.post('/api/admin/session/start', body, { peer: FOREIGN });
    const cookie = String(started.headers.get('set-cookie')).split(';')[0] as string;
    const ask = () => app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie } });
    assert.match((await app.get('/api/admin/tokens')).text, /"expires_at":"2030-01-16T00:00/);
    for (let hour = 0; hour < 12; hour++) {
      assert.equal((await ask()).status, 200, `hour ${hour}`);
      app.clock.advance(60 * 60 * 1000);
      await app.store.keepClock();
    }
    assert.equal((await ask()).status, 401);
  });
});

describe('expensive work', () => {
  async function openCallers(t: TestContext) {
    const app = await openTestApp(t);
    const [one, other, third] = await Promise.all(
      ['one', 'other', 'third'].map(async (name) => {
        const wish = { name, role: 'viewer', days: null } as const;
        const { token } = await app.accounts.tokens.create(wish, 'test');
        const headers = { authorization: `Bearer ${token}`, host: 'localhost' };
        return (path: string) => app.request(path, { headers }, FOREIGN);
      }),
    );
    return { one, other, third } as Record<'one' | 'other' | 'third', (path: string) => Promise<Response>>;
  }

  test('parallel exports: one of a caller and two in all, others have to try again', async (t) => {
    const { one, other, third } = await openCallers(t);
    const path = '/api/admin/audit/export';
    const first = await one(path);
    const second = await one(path);
    assert.deepEqual([first.status, second.status], [200, 429]);
    assert.equal(second.headers.get('retry-after'), '10');
    assert.match(((await second.json()) as { message: string }).message, /exports .* are already running/);
    assert.deepEqual([(await other(path)).status, (await third(path)).status], [200, 429]);
    await first.body?.cancel();
    assert.equal((await third(path)).status, 200);
  });

  test('as many event streams as one caller can open: others still get theirs', async (t) => {
    const { one, other } = await openCallers(t);
    const follow = async (ask: typeof one) => {
      const { status, body } = await ask('/api/admin/events');
      if (status !== 200) return { status, end: async () => {} };
      const reader = (body as ReadableStream).getReader();
      await reader.read();
      return { status, end: () => reader.cancel() };
    };
    const streams = [];
    for (let n = 0; n < 100; n++) streams.push(await follow(one));
    const refused = streams.filter(({ status }) => status === 429);
    assert.equal(refused.length, 75);
    const theirs = await follow(other);
    assert.equal(theirs.status, 200);
    await streams[0]?.end();
    assert.equal((await follow(one)).status, 200, 'the place is free again');
  });
});

describe('an e-mail address of somebody else', () => {
  const OWN = { email: 'ann@example.com', email_verified: true };
  const BOSS = { email: 'boss@example.com' };
  const NOTHING = { email: undefined, email_verified: undefined };

  for (const [how, claims, userInfo, expected] of [
    ['both are in the ID token', { ...OWN, ...BOSS }, {}, 'admin'],
    ['both are in the user info', NOTHING, { ...OWN, ...BOSS }, 'admin'],
    ['mixed claims: the user info verifies another address', { ...NOTHING, ...BOSS }, OWN, 'refused'],
    ['mixed claims: the ID token verifies another address', { email_verified: true }, BOSS, 'refused'],
    [
      'mixed claims: the user info verifies what the ID token does not',
      { ...BOSS, email_verified: false },
      OWN,
      'refused',
    ],
    ['an unverified address', BOSS, BOSS, 'refused'],
    ['a text instead of a verification', { ...BOSS, email_verified: 'true' }, {}, 'refused'],
    ['a number instead of a verification', { ...BOSS, email_verified: 1 }, {}, 'refused'],
    ['a list of addresses', { email: [BOSS.email], email_verified: true }, {}, 'refused'],
    ['an object instead of an address', { email: { ...BOSS }, email_verified: true }, {}, 'refused'],
  ] as const) {
    test(`${how}: ${expected}`, async (t) => {
      const provider = await openHostileProvider(t, CLIENT.id);
      const settings = { NAME_CLAIM: 'nickname', GROUPS_CLAIM: 'email', ADMINS: BOSS.email };
      const site = await openSignInSite(t, provider.issuer, settings);
      provider.lie({ claims, userInfo });
      const { url, state, cookie } = await site.begin();
      provider.meet(url);
      const query = `code=x&state=${state}&iss=${provider.issuer}`;
      const { session, code, message } = await site.finish(cookie, query);
      if (expected === 'admin') assert.equal((await site.who(session)).body.role, 'admin');
      else assert.equal(code, 'sign_in_refused', message);
    });
  }
});

describe('a page under a name that was rebound to this machine', () => {
  const GUESS = { name: 'admin', password: 'a guess' };
  const basic = { authorization: `Basic ${btoa('admin:a guess')}` };
  type Ask = (app: TestApp, headers: Record<string, string>) => ReturnType<TestApp['get']>;
  const ways: Readonly<Record<string, Ask>> = {
    '/auth': (app, headers) => app.get('/auth', { peer: FOREIGN, headers: { ...basic, ...headers } }),
    'the sign-in of the page': (app, headers) =>
      app.post('/api/admin/session/start', GUESS, { peer: FOREIGN, headers }),
    'the sign-in with a provider': (app, headers) =>
      app.post('/api/admin/session/provider', { page: PAGE }, { peer: FOREIGN, headers }),
  };
  const browsers = {
    'a modern browser': { origin: 'http://evil.example:8080', 'sec-fetch-site': 'same-origin' },
    'an older browser': {
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0',
    },
  };
  for (const [way, ask] of Object.entries(ways)) {
    for (const [how, headers] of Object.entries(browsers)) {
      test(`DNS rebinding: guesses no password by ${way} in ${how}`, async (t) => {
        const app = await openTestApp(t);
        const { status, body } = await ask(app, { ...headers, host: 'evil.example:8080' });
        assert.deepEqual([status, body.code], [403, 'host_not_allowed']);
        const own = await ask(app, { ...headers, host: '127.0.0.1:8080' });
        assert.notEqual(own.body.code, 'host_not_allowed');
      });
    }

    test(`DNS rebinding: programs use any name for ${way}`, async (t) => {
      const app = await openTestApp(t);
      const { body } = await ask(app, { 'user-agent': 'curl/8.5.0', host: 'an-alias-of-ours.example' });
      assert.notEqual(body.code, 'host_not_allowed');
    });
  }
});
