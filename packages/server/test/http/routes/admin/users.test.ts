import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CONTROL,
  createAdministrator,
  FOREIGN,
  openTestApp,
  readEvents,
  START,
  type TestApp,
} from '../../../../../../test/support/test-app.ts';

type Facts = Readonly<Record<string, unknown>>;

const OWN = 'a password of my own';

function basic(name: string, password: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

async function signIn(app: TestApp, name: string, password: string): Promise<string> {
  const { body } = await app.get('/auth', { headers: basic(name, password), peer: FOREIGN });
  return `Bearer ${body.token}`;
}

describe('accounts', () => {
  test('are added, listed, changed and removed; their passwords are never shown again', async (t) => {
    const app = await openTestApp(t);
    await createAdministrator(app.accounts);
    const made = await app.post('/api/admin/users/add', { name: 'olga', role: 'operator' });
    const oneTime = made.body.password as string;
    assert.ok(oneTime.length > 20);
    const given = await app.post('/api/admin/users/add', { name: 'ann', role: 'user', password: OWN });
    assert.deepEqual(given.body, { name: 'ann', password: null });
    const authorization = await signIn(app, 'olga', oneTime);
    const status = () => app.get('/api/admin/status', { peer: FOREIGN, headers: { authorization } });
    assert.equal((await status()).status, 200);
    assert.deepEqual((await app.post('/api/admin/users/role', { name: 'olga', role: 'user' })).body, {
      changed: 1,
    });
    assert.equal((await status()).status, 403);
    assert.deepEqual((await app.post('/api/admin/users/remove', { name: 'olga' })).body, { removed: 1 });
    assert.equal((await status()).status, 401);
    const { text, body } = await app.get('/api/admin/users');
    const names = (body.users as Facts[]).map(({ name, role }) => `${name}: ${role}`);
    assert.deepEqual(names, ['admin: admin', 'ann: user']);
    assert.doesNotMatch(text, /scrypt|hash/);
    const events = JSON.stringify(await readEvents(app.store));
    for (const hidden of [OWN, oneTime, 'scrypt']) assert.ok(!events.includes(hidden), hidden);
  });

  test('and tokens of operators are limited to products, and nothing else is', async (t) => {
    const app = await openTestApp(t);
    const products = ['cad', 'cam', 'cad'];
    const post = async (path: string, fields: object) => (await app.post(`/api/admin/${path}`, fields)).body;
    await post('users/add', { name: 'olga', role: 'operator', products });
    await post('tokens/create', { name: 'ci', role: 'operator', products });
    const list = async (path: string) => {
      const { body } = await app.get(`/api/admin/${path}`);
      return (body[path] as Facts[]).map((one) => one.products);
    };
    assert.deepEqual(await list('users'), [['cad', 'cam']]);
    assert.deepEqual(await list('tokens'), [['cad', 'cam']]);
    const limit = (wish: object) => post('users/role', { name: 'olga', role: 'operator', ...wish });
    assert.deepEqual(await limit({ products: ['cam'] }), { changed: 1 });
    assert.deepEqual(await list('users'), [['cam']]);
    for (const wrong of [[], [''], [' cad'], ['c\nd'], ['x'.repeat(257)], Array(101).fill('a'), 'cad']) {
      assert.equal((await limit({ products: wrong })).code, 'validation_error', String(wrong));
    }
    const viewer = await post('users/add', { name: 'vera', role: 'viewer', products });
    assert.match(String(viewer.message), /^Only operators can be limited/);
    assert.equal((await post('tokens/create', { name: 'x', role: 'admin', products })).code, viewer.code);
    assert.deepEqual(await limit({}), { changed: 1 });
    assert.deepEqual(await list('users'), [null]);
  });

  test('get a new password without the old one only from others', async (t) => {
    const app = await openTestApp(t);
    const password = 'another one of my own';
    await app.accounts.add({ name: 'admin', role: 'admin', password }, 'test');
    await app.accounts.add({ name: 'ann', role: 'admin', password: OWN }, 'test');
    const headers = { authorization: await signIn(app, 'admin', password) };
    const confirmed = { password: OWN, own_password: password };
    const replace = (name: string) =>
      app.post('/api/admin/users/password', { name, ...confirmed }, { peer: FOREIGN, headers });
    assert.equal((await replace('ann')).status, 200);
    const own = await replace('admin');
    assert.deepEqual([own.status, own.body.code], [403, 'forbidden']);
    assert.match(await signIn(app, 'admin', password), /^Bearer [\w-]{43}$/, 'the old one still counts');
  });

  test('are refused with a reason', async (t) => {
    const app = await openTestApp(t);
    await createAdministrator(app.accounts);
    const cases: [string, Facts, string][] = [
      ['add', {}, 'missing_parameters'],
      ['add', { name: 'ann' }, 'missing_parameters'],
      ['add', { name: 'ann', role: 'root' }, 'validation_error'],
      ['add', { name: 'local', role: 'user' }, 'validation_error'],
      ['add', { name: 'ann', role: 'user', password: 'short' }, 'validation_error'],
      ['add', { name: 'admin', role: 'user' }, 'account_exists'],
      ['password', { name: 'nobody', password: OWN }, 'account_not_found'],
      ['role', { name: 'admin', role: 'operator' }, 'last_administrator'],
      ['role', { name: 'admin' }, 'missing_parameters'],
      ['remove', { name: 'admin' }, 'last_administrator'],
      ['remove', { name: 'nobody' }, 'account_not_found'],
    ];
    for (const [what, body, code] of cases) {
      const answer = await app.post(`/api/admin/users/${what}`, body);
      assert.deepEqual([answer.status, answer.body.code], [400, code], JSON.stringify(body));
    }
  });
});

describe('setPassword', () => {
  const PATH = '/api/v4/setPassword';

  test("replaces the caller's password, and keeps the caller's token", async (t) => {
    const app = await openTestApp(t);
    await app.accounts.add({ name: 'ann', role: 'user', password: OWN }, 'test');
    const [mine, other] = [await signIn(app, 'ann', OWN), await signIn(app, 'ann', OWN)];
    const change = { passwordOld: OWN, passwordNew: `${OWN}, a newer one` };
    const headers = { authorization: mine };
    assert.equal((await app.post(PATH, change, { peer: FOREIGN, headers })).status, 200);
    const who = (authorization: string) =>
      app.get('/api/admin/session', { peer: FOREIGN, headers: { authorization } });
    assert.equal((await who(mine)).body.name, 'ann');
    assert.equal((await who(other)).status, 401);
    assert.equal((await app.get('/auth', { headers: basic('ann', OWN) })).status, 401);
  });

  test('takes both in a URL, as existing clients send them, unless that is turned off', async (t) => {
    const app = await openTestApp(t, { logRequests: true });
    const old = await createAdministrator(app.accounts);
    const url = `${PATH}?passwordOld=${old}&passwordNew=${encodeURIComponent(OWN)}`;
    assert.equal((await app.get(url)).status, 200);
    assert.ok(!JSON.stringify(app.log).includes(old) && !JSON.stringify(app.log).includes('my own'));
    assert.ok(await app.accounts.signIn({ name: 'admin', password: OWN, address: '' }));
    const strict = await openTestApp(t, { allowKeysInUrl: false });
    const password = await createAdministrator(strict.accounts);
    const refused = await strict.get(`${PATH}?passwordOld=${password}&passwordNew=${OWN}`);
    assert.equal(refused.body.code, 'keys_in_url_not_allowed');
    assert.ok(await strict.accounts.signIn({ name: 'admin', password, address: '' }));
  });

  test('changes nothing if one is missing, the old one is wrong or the new one is weak', async (t) => {
    const app = await openTestApp(t);
    const old = await createAdministrator(app.accounts);
    const cases: [Facts, string][] = [
      [{}, 'missing_parameters'],
      [{ passwordOld: old }, 'missing_parameters'],
      [{ passwordOld: 'guess', passwordNew: OWN }, 'invalid_credentials'],
      [{ passwordOld: old, passwordNew: 'short' }, 'validation_error'],
      [{ passwordOld: old, passwordNew: old }, 'validation_error'],
    ];
    for (const [body, code] of cases) assert.equal((await app.post(PATH, body)).body.code, code);
    assert.equal(await app.accounts.isBeingSetUp(), true);
    const kinds = (await readEvents(app.store)).map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(-2), ['account_created', 'sign_in_failed']);
  });
});

describe('a one-time password', () => {
  test('signs in once; after that it can only be replaced, however it is sent', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const [first, second] = [await signIn(app, 'admin', password), await signIn(app, 'admin', password)];
    const get = (path: string, authorization: string) =>
      app.get(path, { peer: FOREIGN, headers: { authorization } });
    assert.equal((await get('/api/admin/status', first)).status, 200);
    const refused = await get('/api/admin/status', second);
    assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden']);
    assert.match(refused.body.message as string, /setPassword/);
    assert.equal((await get('/api/admin/session', second)).body.must_set_password, true);
    const browser = await app.post(
      '/api/admin/session/start',
      { name: 'admin', password },
      { peer: FOREIGN },
    );
    const cookie = String(browser.headers.get('set-cookie')).split(';')[0] as string;
    const page = await app.get('/api/admin/users', { peer: FOREIGN, headers: { cookie } });
    assert.equal(page.status, 403);
    const change = { passwordOld: password, passwordNew: OWN };
    const headers = { authorization: second };
    const changed = await app.post('/api/v4/setPassword', change, { peer: FOREIGN, headers });
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await get('/api/admin/status', second)).status, 200, 'now it can do the rest');
    assert.equal((await get('/api/admin/status', first)).status, 401);
    for (let time = 0; time < 2; time++) {
      const own = await signIn(app, 'admin', OWN);
      assert.equal((await get('/api/admin/status', own)).status, 200);
    }
  });

  test('older than a week is refused with how to get another', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    app.clock.advance(7 * 24 * 60 * 60 * 1000);
    await app.post('/api/admin/clock/accept', {}, { peer: CONTROL });
    const { status, body } = await app.get('/auth', { headers: basic('admin', password), peer: FOREIGN });
    assert.equal(status, 401);
    assert.match(body.message as string, /older than 7 days.*"berth user password admin --one-time"/);
    const wrong = await app.get('/auth', { headers: basic('admin', `${password}x`), peer: FOREIGN });
    assert.doesNotMatch(wrong.text, /7 days/);
    const made = await app.post('/api/admin/users/password', { name: 'admin' }, { peer: CONTROL });
    const again = basic('admin', made.body.password as string);
    assert.equal((await app.get('/auth', { headers: again, peer: FOREIGN })).status, 200);
  });
});

describe('tokens', () => {
  test('are shown once, listed without their values, and useless when revoked', async (t) => {
    const app = await openTestApp(t, { auth: { clients: 'required' } });
    const made = await app.post('/api/admin/tokens/create', { name: 'ci', role: 'user', days: 90 });
    const { id, token } = made.body as { id: string; token: string };
    const register = () =>
      app.post(
        '/api/v4/register',
        { user: 'ann' },
        { peer: FOREIGN, headers: { authorization: `Bearer ${token}` } },
      );
    const readUse = async () => {
      const { body } = await app.get('/api/admin/tokens');
      return (body.tokens as Facts[])[0]?.used_at;
    };
    assert.equal(await readUse(), null, 'never used');
    assert.equal((await register()).status, 200);
    assert.equal(await readUse(), new Date(START).toISOString());
    const list = await app.get('/api/admin/tokens');
    assert.ok(!list.text.includes(token));
    const [row] = list.body.tokens as Facts[];
    const { issued_at, used_at, expires_at, ...rest } = row as Facts;
    const own = { id, kind: 'api', account: null, name: 'ci', role: 'user', products: null, is_alive: true };
    assert.deepEqual(rest, { ...own, restriction: 'until_set_up' });
    assert.deepEqual((await app.post('/api/admin/tokens/revoke', { id })).body, { revoked: 1 });
    assert.equal((await register()).status, 401);
    assert.equal((await app.post('/api/admin/tokens/revoke', { id })).body.code, 'token_not_found');
    const events = await readEvents(app.store);
    const by = events.flatMap((event) => (event.kind === 'slot_lent' ? [event.by] : []));
    assert.deepEqual(by, ['token ci']);
    assert.ok(!JSON.stringify(events).includes(token));
  });

  test('end after a year, at another time, or never', async (t) => {
    const app = await openTestApp(t);
    const expectEnd = async (name: string, sent: Facts, expected: string | null) => {
      const body = { name, role: 'user', ...sent };
      const made = await app.post('/api/admin/tokens/create', body, { peer: CONTROL });
      assert.deepEqual([made.body.expires_at, made.body.restriction], [expected, null], made.text);
    };
    await expectEnd('a', {}, '2031-01-15T12:00:00.000Z');
    await expectEnd('b', { days: 30 }, '2030-02-14T12:00:00.000Z');
    await expectEnd('c', { days: 'never' }, null);
  });

  test('are refused with a reason', async (t) => {
    const app = await openTestApp(t);
    const create = (body: Facts) => app.post('/api/admin/tokens/create', body);
    assert.equal((await create({ name: 'ci' })).body.code, 'missing_parameters');
    assert.equal((await create({ role: 'user' })).body.code, 'missing_parameters');
    assert.equal((await create({ name: 'ci', role: 'user', days: 0 })).body.code, 'validation_error');
    assert.equal((await create({ name: 'ci', role: 'user', days: 3651 })).body.code, 'validation_error');
    assert.equal((await create({ name: 'ci', role: 'user', days: 'forever' })).body.code, 'validation_error');
    assert.equal((await create({ name: 'ci', role: 'user', days: '7' })).status, 200);
    assert.equal((await create({ name: 'ci', role: 'user' })).body.code, 'token_exists');
  });
});
