import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { codeAt, stepAt } from '../../../packages/server/src/services/access/one-time-code.ts';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  openTestApp,
  readEvents,
  type SendOptions,
  type TestApp,
  type TestAppOptions,
} from '../../support/test-app.ts';

const PASSWORD = 'a password of my own';
const OTHER = 'another one, as long';
const SET_PASSWORD = '/api/v4/setPassword';

const bearer = (token: unknown): SendOptions => ({
  peer: FOREIGN,
  headers: { authorization: `Bearer ${token}` },
});

/** A server with the administrator "admin" and the application "app", who share a password. */
async function openApp(t: TestContext, options: TestAppOptions = {}) {
  const app = await openTestApp(t, { licenses: [], ...options });
  await app.accounts.add({ name: 'admin', role: 'admin', password: PASSWORD }, 'test');
  await app.accounts.add({ name: 'app', role: 'user', password: PASSWORD }, 'test');
  const makeToken = async (role: 'user' | 'viewer' | 'operator' | 'admin', products?: readonly string[]) => {
    const { token } = await app.accounts.tokens.create({ name: role, role, products, days: 1 }, 'test');
    return bearer(token);
  };
  const signIn = async (name = 'admin', password = PASSWORD): Promise<SendOptions> => {
    const token = await app.accounts.signIn({ name, password, address: FOREIGN.address, isHere: true });
    return bearer(token);
  };
  return { app, makeToken, signIn };
}

/** Gives the caller's account a second factor. */
async function setUpFactor(app: TestApp, caller: SendOptions) {
  const readCode = (secret: unknown) => codeAt(String(secret), stepAt(app.clock.readWall()));
  const { secret } = (await app.post('/api/admin/second-factor/offer', {}, caller)).body;
  const sent = { password: PASSWORD, secret, code: readCode(secret) };
  const { status, body } = await app.post('/api/admin/second-factor/confirm', sent, caller);
  assert.equal(status, 200);
  app.clock.advance(60_000);
  return { readCode: () => readCode(secret), codes: body.recovery_codes as readonly string[] };
}

const canSignIn = async ({ accounts }: TestApp, name: string, password: string) =>
  (await accounts.signIn({ name, password, address: '::1', isHere: true })) !== null;

describe("changing another's password with setPassword", () => {
  const CHANGE = { passwordOld: PASSWORD, passwordNew: OTHER };

  for (const role of ['user', 'viewer', 'operator', 'admin'] as const) {
    test(`an API token of a ${role} that knows the password of admin: refused`, async (t) => {
      const { app, makeToken } = await openApp(t);
      const token = await makeToken(role, role === 'operator' ? ['cad'] : undefined);
      for (const change of [CHANGE, { ...CHANGE, passwordOld: 'a wrong one' }]) {
        const { status, body } = await app.post(SET_PASSWORD, change, token);
        assert.deepEqual([status, body.code], [403, 'forbidden'], JSON.stringify(body));
      }
      assert.ok(await canSignIn(app, 'admin', PASSWORD));
      const { operations } = (await app.get('/api/admin/session', token)).body;
      assert.ok(!(operations as string[]).includes(`POST ${SET_PASSWORD}`));
    });
  }

  test('with accounts for emergencies only, from elsewhere: right and wrong get one answer', async (t) => {
    const { app, makeToken, signIn } = await openApp(t, {
      auth: { localAccounts: 'emergency', isLoopbackOnly: false },
      env: {
        BERTH_AUTH_LOCAL_ACCOUNTS: 'emergency',
        BERTH_AUTH_OIDC_ISSUER: 'https://login.example.com',
        BERTH_AUTH_OIDC_CLIENT_ID: 'berth',
      },
    });
    const callers = [await makeToken('admin'), await makeToken('user'), await signIn()];
    for (const caller of callers) {
      const answers = [];
      for (const passwordOld of [PASSWORD, 'a wrong one']) {
        const { status, text } = await app.post(SET_PASSWORD, { passwordOld, passwordNew: OTHER }, caller);
        answers.push(`${status} ${text}`);
      }
      assert.equal(answers[0], answers[1]);
      assert.match(answers[0] as string, /^40[13] /);
    }
    assert.ok(await canSignIn(app, 'admin', PASSWORD));
  });

  test('a token of an account: changes the password of that account only', async (t) => {
    const { app, signIn } = await openApp(t);
    const { status, body } = await app.post(SET_PASSWORD, CHANGE, await signIn('app'));
    assert.deepEqual([status, body], [200, { message: 'The password of "app" has been changed.' }]);
    assert.ok(await canSignIn(app, 'app', OTHER));
    assert.ok(await canSignIn(app, 'admin', PASSWORD));
  });

  test('a local caller during setup, and the control socket: that of the first administrator', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    const first = await createAdministrator(app.accounts);
    const change = (passwordOld: string, passwordNew: string, caller?: SendOptions) =>
      app.post(SET_PASSWORD, { passwordOld, passwordNew }, caller);
    assert.equal((await change(first, PASSWORD)).status, 200);
    assert.equal((await change(PASSWORD, OTHER)).status, 401);
    assert.equal((await change(PASSWORD, OTHER, { peer: CONTROL })).status, 200);
  });

  test('with the password, but without the second factor: refused, wherever the code would be', async (t) => {
    const { app, signIn } = await openApp(t);
    const admin = await signIn();
    const { readCode, codes } = await setUpFactor(app, admin);
    const asked = await app.post(SET_PASSWORD, CHANGE, admin);
    assert.deepEqual([asked.status, asked.body.code], [401, 'second_factor_required']);
    const wrong = await app.post(SET_PASSWORD, { ...CHANGE, code: '000000' }, admin);
    assert.equal(wrong.body.code, 'second_factor_required');
    assert.equal((await app.post(SET_PASSWORD, { ...CHANGE, code: readCode() }, admin)).status, 200);
    const back = { passwordOld: OTHER, passwordNew: PASSWORD };
    const headers = { ...admin.headers, 'x-berth-code': String(codes[0]) };
    assert.equal((await app.post(SET_PASSWORD, back, { ...admin, headers })).status, 200);
    const again = await app.post(SET_PASSWORD, CHANGE, { ...admin, headers });
    assert.equal(again.body.code, 'second_factor_required', 'a recovery code counts once');
    const events = await readEvents(app.store);
    assert.deepEqual(
      events.flatMap((event) => (event.kind === 'password_changed' ? [event.recoveryCodesLeft] : [])),
      [undefined, 9],
    );
    assert.deepEqual(
      events.flatMap(({ kind }) => (/second_factor_asked|sign_in_failed/.test(kind) ? [kind] : [])),
      ['second_factor_asked', 'sign_in_failed', 'sign_in_failed'],
    );
  });

  test('guessing the old password, and then the code: slowed down as at sign-in', async (t) => {
    const { app, signIn } = await openApp(t);
    const admin = await signIn();
    const guess = async (more: object) =>
      (await app.post(SET_PASSWORD, { ...CHANGE, ...more }, admin)).status;
    const codes = await setUpFactor(app, admin);
    const five = async (more: object) => {
      const statuses = [];
      for (let n = 0; n < 6; n++) statuses.push(await guess(more));
      return statuses;
    };
    assert.deepEqual(await five({ code: '000000' }), [401, 401, 401, 401, 401, 429]);
    assert.equal(await guess({ code: codes.readCode() }), 429);
    assert.deepEqual(await five({ passwordOld: 'a wrong one' }), [400, 400, 400, 400, 400, 429]);
  });
});
