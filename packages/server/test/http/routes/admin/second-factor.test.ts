import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  FOREIGN,
  openTestApp,
  type SendOptions,
  type TestAppOptions,
} from '../../../../../../test/support/test-app.ts';
import { codeAt, stepAt } from '../../../../src/services/access/one-time-code.ts';

const PASSWORD = 'a password of my own';
const FACTOR = '/api/admin/second-factor';

function basic(name: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${name}:${PASSWORD}`).toString('base64')}` };
}

/** A server with the administrator "ada" and others who share her password. */
async function openApp(t: TestContext, options: TestAppOptions = {}) {
  const app = await openTestApp(t, { licenses: [], ...options });
  for (const [name, role] of [
    ['ada', 'admin'],
    ['bob', 'viewer'],
    ['app', 'user'],
  ] as const) {
    await app.accounts.add({ name, role, password: PASSWORD }, 'test');
  }
  const authenticate = (name: string, headers = {}, peer = FOREIGN) =>
    app.get('/auth', { peer, headers: { ...basic(name), ...headers } });
  const signIn = async (name: string): Promise<SendOptions> => {
    const { body } = await authenticate(name);
    return { peer: FOREIGN, headers: { authorization: `Bearer ${body.token}` } };
  };
  const readCode = (secret: unknown) => codeAt(String(secret), stepAt(app.clock.readWall()));
  const setUp = async (caller: SendOptions) => {
    const { secret } = (await app.post(`${FACTOR}/offer`, {}, caller)).body;
    const confirmation = { password: PASSWORD, secret, code: readCode(secret) };
    const answer = await app.post(`${FACTOR}/confirm`, confirmation, caller);
    app.clock.advance(60_000);
    return { secret, answer, codes: answer.body.recovery_codes as readonly string[] };
  };
  return { app, authenticate, signIn, setUp, readCode };
}

describe('a second factor', () => {
  test('is set up, shown in lists, and asked for from then on', async (t) => {
    const { app, authenticate, signIn, setUp, readCode } = await openApp(t);
    const ada = await signIn('ada');
    const offered = await app.post(`${FACTOR}/offer`, {}, ada);
    assert.match(String(offered.body.url), /^otpauth:\/\/totp\/Berth%20\S+:ada\?secret=[A-Z2-7]{32}&issuer=/);
    const { secret, answer, codes } = await setUp(ada);
    assert.deepEqual([answer.status, codes.length], [200, 10]);
    assert.equal((await app.get('/api/admin/session', ada)).body.recovery_codes_left, 10);
    const { users } = (await app.get('/api/admin/users', ada)).body as { users: Record<string, unknown>[] };
    assert.deepEqual(
      users.map(({ name, second_factor }) => [name, second_factor]),
      [
        ['ada', true],
        ['app', false],
        ['bob', false],
      ],
    );
    const asked = await authenticate('ada');
    assert.deepEqual([asked.status, asked.body.code], [401, 'second_factor_required']);
    assert.match(String(asked.body.message), /"X-Berth-Code"/);
    assert.equal((await authenticate('ada', { 'x-berth-code': readCode(secret) })).status, 200);
    assert.equal((await authenticate('ada', { 'x-berth-code': readCode(secret) })).status, 401);
    assert.equal((await authenticate('app')).status, 200);
  });

  test('is a second step for browsers, too, and is turned off with password and code', async (t) => {
    const { app, signIn, setUp, readCode } = await openApp(t);
    const ada = await signIn('ada');
    const { secret, codes } = await setUp(ada);
    const start = (code?: string) => {
      const sent = { name: 'ada', password: PASSWORD, ...(code === undefined ? {} : { code }) };
      return app.post('/api/admin/session/start', sent, { peer: FOREIGN });
    };
    assert.equal((await start()).body.code, 'second_factor_required');
    assert.equal((await start('000 000')).body.code, 'second_factor_required');
    assert.equal((await start(codes[0])).status, 200);
    const turnOff = (body: object) => app.post(`${FACTOR}/remove`, body, ada);
    assert.equal((await turnOff({ password: PASSWORD })).body.code, 'missing_parameters');
    assert.equal((await turnOff({ password: PASSWORD, code: codes[0] })).body.code, 'invalid_credentials');
    const off = await turnOff({ password: PASSWORD, code: readCode(secret) });
    assert.deepEqual([off.status, off.body], [200, { removed: 1 }]);
    assert.equal((await start()).status, 200);
  });

  test('is removed by another administrator only', async (t) => {
    const { app, authenticate, signIn, setUp } = await openApp(t);
    const [ada, bob] = [await signIn('ada'), await signIn('bob')];
    await setUp(ada);
    await setUp(bob);
    const remove = (name: string) => app.post('/api/admin/users/remove-second-factor', { name }, ada);
    assert.equal((await remove('ada')).body.code, 'forbidden');
    assert.deepEqual((await remove('bob')).body, { removed: 1 });
    assert.equal((await app.get('/api/admin/session', bob)).status, 401, 'his sessions end');
    assert.equal((await authenticate('bob')).status, 200);
  });

  test('is only for people with an account', async (t) => {
    const { app, signIn } = await openApp(t);
    const { token } = await app.accounts.tokens.create({ name: 'ci', role: 'admin', days: 1 }, 'test');
    const ci = { peer: FOREIGN, headers: { authorization: `Bearer ${token}` } };
    for (const caller of [ci, await signIn('app')]) {
      assert.equal((await app.post(`${FACTOR}/offer`, {}, caller)).body.code, 'forbidden');
    }
  });

  test('that is required has to be set up before anything else', async (t) => {
    const { app, signIn, setUp } = await openApp(t, { auth: { secondFactor: 'required' } });
    const ada = await signIn('ada');
    const status = (caller: SendOptions) => app.get('/api/admin/status', caller);
    const refused = await status(ada);
    assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden']);
    assert.match(String(refused.body.message), /second-factor\/offer/);
    const session = (await app.get('/api/admin/session', ada)).body;
    assert.equal(session.must_set_second_factor, true);
    const operations = session.operations as readonly string[];
    assert.ok(operations.includes(`POST ${FACTOR}/confirm`) && !operations.includes('GET /api/admin/status'));
    const { token } = await app.accounts.tokens.create({ name: 'ci', role: 'viewer', days: 1 }, 'test');
    assert.equal((await status({ headers: { authorization: `Bearer ${token}` } })).status, 200);
    await setUp(ada);
    assert.equal((await status(ada)).status, 200, 'the same session goes on');
    assert.equal(
      (await app.get('/api/admin/session', await signIn('app'))).body.must_set_second_factor,
      false,
    );
  });
});

describe('accounts that work only on the machine itself', () => {
  const LOCAL_ONLY = {
    auth: { localAccounts: 'emergency', isLoopbackOnly: false },
    env: {
      BERTH_AUTH_LOCAL_ACCOUNTS: 'emergency',
      BERTH_AUTH_OIDC_ISSUER: 'https://login.example.com',
      BERTH_AUTH_OIDC_NAME: 'Keycloak',
      BERTH_AUTH_OIDC_CLIENT_ID: 'berth',
    },
  } as const;
  const HERE = { address: '127.0.0.1', isControl: false };

  test('sign in there, with a browser or without, and not through a proxy', async (t) => {
    const { app, authenticate } = await openApp(t, LOCAL_ONLY);
    assert.equal((await authenticate('ada', {}, HERE)).status, 200);
    const browser = {
      'user-agent': 'Mozilla/5.0',
      origin: 'http://localhost',
      'sec-fetch-site': 'same-origin',
    };
    const headers = { ...browser, host: 'localhost' };
    const sent = { name: 'ada', password: PASSWORD };
    assert.equal((await app.post('/api/admin/session/start', sent, { peer: HERE, headers })).status, 200);
    for (const [peer, more] of [
      [FOREIGN, {}],
      [HERE, { 'x-forwarded-for': '127.0.0.1' }],
      [HERE, { via: '1.1 proxy' }],
      [HERE, { host: 'licenses.example.com' }],
      [{ ...HERE, isHttp10: true }, {}],
    ] as const) {
      const answer = await authenticate('ada', more, peer);
      assert.deepEqual([answer.status, answer.body.code], [401, 'unauthorized'], JSON.stringify(more));
      assert.match(String(answer.body.message), /sign in with Keycloak/);
    }
    assert.equal((await authenticate('app')).status, 200, 'applications are not limited');
    const welcome = async (peer: typeof HERE) =>
      (await app.get('/api/admin/welcome', { peer, headers: { host: 'localhost' } })).body.takes_accounts;
    assert.deepEqual([await welcome(HERE), await welcome(FOREIGN)], [true, false]);
  });

  test('have tokens that do not work elsewhere, wherever they were made', async (t) => {
    const { app, authenticate } = await openApp(t, LOCAL_ONLY);
    const { token } = (await authenticate('ada', {}, HERE)).body;
    const { token: ci } = await app.accounts.tokens.create({ name: 'ci', role: 'admin', days: 1 }, 'test');
    const { token: application } = (await authenticate('app')).body;
    const ask = async (sent: unknown, peer = FOREIGN) =>
      (await app.get('/api/admin/session', { peer, headers: { authorization: `Bearer ${sent}` } })).status;
    assert.deepEqual([await ask(token, HERE), await ask(token)], [200, 401]);
    assert.deepEqual([await ask(ci), await ask(application)], [200, 200]);
  });

  test('need another way to sign in from elsewhere', async (t) => {
    await assert.rejects(
      openTestApp(t, { auth: { localAccounts: 'emergency' } }),
      /"auth\.oidc\.issuer" or "auth\.ldap/,
    );
  });
});
