import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { codeAt, stepAt } from '../../../packages/server/src/services/access/one-time-code.ts';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  openTestApp,
  readEvents,
  readTraces,
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

const PASSPHRASE = 'correct horse battery';

/** What hands out or replaces what everything else rests on. */
const GUARDED: readonly (readonly [what: string, path: string, body: object])[] = [
  ['the master key', '/api/admin/keys/export', { passphrase: PASSPHRASE }],
  ['a backup with the master key', '/api/admin/backup', { passphrase: PASSPHRASE }],
  ['a new master key', '/api/admin/keys/rotate', {}],
  ['thinning of the audit log', '/api/admin/audit/thin', { before: '2029-01-01' }],
  ['the password of an administrator', '/api/admin/users/password', { name: 'boss' }],
  ['the second factor of an administrator', '/api/admin/users/remove-second-factor', { name: 'boss' }],
  ['another administrator', '/api/admin/users/add', { name: 'eve', role: 'admin' }],
  ['the role of an administrator', '/api/admin/users/role', { name: 'bob', role: 'admin' }],
  ['a lower role, whose password it may set', '/api/admin/users/role', { name: 'boss', role: 'viewer' }],
  ['removing an administrator, to add the name again', '/api/admin/users/remove', { name: 'boss' }],
  [
    'the passphrase of scheduled backups',
    '/api/admin/settings',
    { changes: { 'backup.passphraseFile': '/etc/passwd' } },
  ],
  ['the folder of scheduled backups', '/api/admin/settings', { changes: { 'backup.folder': '/tmp/eve' } }],
];

async function openGuarded(t: TestContext) {
  const opened = await openApp(t);
  const { app, signIn } = opened;
  await app.accounts.add({ name: 'boss', role: 'admin', password: PASSWORD }, 'test');
  await app.accounts.add({ name: 'bob', role: 'viewer', password: PASSWORD }, 'test');
  const factor = await setUpFactor(app, await signIn('boss'));
  return { ...opened, factor };
}

const readConfirms = async ({ store }: TestApp) =>
  (await readEvents(store)).flatMap((event) =>
    'confirms' in event ? [[event.kind, event.account, event.confirms]] : [],
  );

describe('with the session or token of an administrator alone', () => {
  for (const [what, path, body] of GUARDED) {
    test(`${what}: refused until the password confirms it`, async (t) => {
      const { app, makeToken, signIn } = await openGuarded(t);
      const admin = await signIn();
      const token = await makeToken('admin');
      const name = app.routes.find(
        ({ paths, mustConfirm }) => paths[0] === path && mustConfirm !== undefined,
      )?.name;
      const before = await readTraces(app.store);
      const alone = await app.post(path, body, admin);
      assert.deepEqual([alone.status, alone.body.code], [403, 'confirmation_required'], alone.text);
      for (const more of [{}, { own_password: PASSWORD }]) {
        const { status, body: refused } = await app.post(path, { ...body, ...more }, token);
        assert.deepEqual([status, refused.code], [403, 'forbidden']);
        assert.match(String(refused.message), /^An API token cannot do this.* command line/);
      }
      assert.deepEqual(await readTraces(app.store), before);
      const wrong = await app.post(path, { ...body, own_password: 'a wrong one' }, admin);
      assert.deepEqual([wrong.status, wrong.body.code], [400, 'invalid_credentials']);
      const right = await app.post(path, { ...body, own_password: PASSWORD }, admin);
      assert.equal(right.status, 200, right.text);
      assert.deepEqual(await readConfirms(app), [
        ['sign_in_failed', 'admin', name],
        ['signed_in', 'admin', name],
      ]);
    });

    test(`${what}: as before on the machine itself`, async (t) => {
      const { app } = await openGuarded(t);
      const control = await app.post(path, body, { peer: CONTROL });
      assert.equal(control.status, 200, control.text);
      assert.deepEqual(await readConfirms(app), []);
    });
  }

  test('the password of an account with a second factor: not enough', async (t) => {
    const { app, signIn } = await openApp(t);
    const admin = await signIn();
    const { readCode } = await setUpFactor(app, admin);
    const send = async (more: object) => {
      const sent = { passphrase: PASSPHRASE, own_password: PASSWORD, ...more };
      const { status, body } = await app.post('/api/admin/keys/export', sent, admin);
      return [status, body.code];
    };
    assert.deepEqual(await send({}), [401, 'second_factor_required']);
    assert.deepEqual(await send({ code: '000000' }), [401, 'second_factor_required']);
    assert.deepEqual(await send({ code: readCode() }), [200, undefined]);
    assert.deepEqual(await send({ code: readCode() }), [401, 'second_factor_required'], 'it counts once');
  });

  test('guessing the password with it: slowed down as at sign-in, and together with it', async (t) => {
    const { app, signIn } = await openApp(t);
    const admin = await signIn();
    const wish = { passphrase: PASSPHRASE, own_password: 'a wrong one' };
    for (let n = 0; n < 5; n++) {
      assert.equal((await app.post('/api/admin/keys/export', wish, admin)).status, 400);
    }
    const right = { ...wish, own_password: PASSWORD };
    assert.equal((await app.post('/api/admin/keys/export', right, admin)).status, 429);
    await assert.rejects(signIn(), /Too many wrong passwords/);
  });

  test('a one-time password: confirms nothing', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    const own_password = await createAdministrator(app.accounts);
    const token = await app.accounts.signIn({ name: 'admin', password: own_password, address: '::1' });
    const sent = { passphrase: PASSPHRASE, own_password };
    const { body } = await app.post('/api/admin/keys/export', sent, bearer(token));
    assert.equal(body.code, 'forbidden');
    assert.match(String(body.message), /one-time password confirms nothing/);
  });

  test('a backup without a passphrase, and accounts that administer nothing: possible', async (t) => {
    const { app, makeToken } = await openGuarded(t);
    const token = await makeToken('admin');
    for (const [path, body] of [
      ['/api/admin/backup', {}],
      ['/api/admin/users/add', { name: 'cora', role: 'operator' }],
      ['/api/admin/users/password', { name: 'bob' }],
      ['/api/admin/users/role', { name: 'bob', role: 'user' }],
      ['/api/admin/settings', { changes: { 'backup.schedule': '6h' } }],
    ] as const) {
      assert.equal((await app.post(path, body, token)).status, 200, path);
    }
    const { operations } = (await app.get('/api/admin/session', token)).body as { operations: string[] };
    assert.ok(!operations.includes('POST /api/admin/keys/export'));
    assert.ok(operations.includes('POST /api/admin/backup'));
  });

  test('over plain HTTP where TLS is required: no password is taken', async (t) => {
    const { app, signIn } = await openApp(t, { auth: { requireTls: true } });
    const sent = { passphrase: PASSPHRASE, own_password: PASSWORD };
    const { body } = await app.post('/api/admin/keys/export', sent, await signIn());
    assert.equal(body.code, 'tls_required');
  });
});

describe('the last 90 days of the audit log', () => {
  test('thinned over HTTP, whoever asks: refused, but not on the machine', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    await app.accounts.add({ name: 'bob', role: 'viewer', password: PASSWORD }, 'test');
    await app.accounts.add({ name: 'cora', role: 'viewer', password: PASSWORD }, 'test');
    const ninety = { before: '2029-10-17T12:00:00Z' };
    const thin = (before: object, caller?: SendOptions) => app.post('/api/admin/audit/thin', before, caller);
    const later = { before: '2029-10-17T12:00:01Z' };
    const refused = await thin(later);
    assert.deepEqual([refused.status, refused.body.field], [400, 'before']);
    assert.match(String(refused.body.message), /^The last 90 days .* up to 2029-10-17T12:00:00\.000Z/);
    assert.equal((await thin(ninety)).status, 200);
    await app.accounts.add({ name: 'admin', role: 'admin', password: PASSWORD }, 'test');
    const token = await app.accounts.signIn({ name: 'admin', password: PASSWORD, address: '::1' });
    const confirmed = { ...later, own_password: PASSWORD };
    assert.equal((await thin(confirmed, bearer(token))).body.code, 'validation_error');
    app.clock.advance(1000);
    const recent = await thin({ before: '2030-01-15T12:00:00.500Z' }, { peer: CONTROL });
    assert.ok(Number(recent.body.thinned_links) > 0, recent.text);
  });
});
