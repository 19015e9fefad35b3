import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROLES } from '@berth/protocol/admin/choices';
import {
  createAdministrator,
  FOREIGN,
  openTestApp,
  type SendOptions,
  type TestApp,
} from '../../../../../../test/support/test-app.ts';
import { SESSION_LIFETIME_MS } from '../../../../src/core/access/token.ts';

const SECURE = { ...FOREIGN, isSecure: true };
const START = '/api/admin/session/start';

async function start(app: TestApp, options: SendOptions) {
  const password = await createAdministrator(app.accounts);
  const answer = await app.post(START, { name: 'admin', password }, options);
  const cookie = answer.headers.get('set-cookie') ?? '';
  return { answer, cookie, sent: cookie.split(';')[0] as string, csrf: answer.body.csrf_token as string };
}

describe('a session', () => {
  test('over TLS is bound to the host and to TLS', async (t) => {
    const app = await openTestApp(t);
    const { answer, cookie } = await start(app, { peer: SECURE });
    assert.equal(answer.status, 200);
    assert.match(cookie, /^__Host-berth=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    assert.ok(!answer.text.includes(cookie.split(/[=;]/)[1] as string), 'no script can read it');
  });

  test('over plain HTTP has a cookie that browsers keep, and warns that others can read it', async (t) => {
    const app = await openTestApp(t);
    const { cookie, sent, csrf } = await start(app, { peer: FOREIGN });
    assert.match(cookie, /^berth=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    const who = await app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie: sent } });
    const own = { name: 'admin', role: 'admin', products: null, csrf_token: csrf };
    const { operations, ...rest } = who.body;
    assert.deepEqual(rest, {
      ...own,
      must_set_password: false,
      must_set_second_factor: false,
      recovery_codes_left: null,
      is_secure: false,
    });
    assert.ok((operations as string[]).includes('POST /api/v4/setKeys'));
  });

  for (const [role, products] of [...ROLES.map((one) => [one] as const), ['operator', ['cad']] as const]) {
    const whose = products === undefined ? role : `${role} of a product`;
    test(`of a role ${whose} says what it may do, and everything else is forbidden`, async (t) => {
      const app = await openTestApp(t, { auth: { clients: 'required' } });
      const { token } = await app.accounts.tokens.create({ name: role, role, products, days: 1 }, 'test');
      const options = { peer: FOREIGN, headers: { authorization: `Bearer ${token}` } };
      const { body } = await app.get('/api/admin/session', options);
      const allowed = body.operations as readonly string[];
      // One never ends, and one revokes the token.
      const left = ['GET /api/admin/events', 'POST /api/admin/session/end'];
      for (const { methods, paths } of app.routes) {
        for (const operation of methods.map((method) => `${method} ${paths[0]}`)) {
          if (left.includes(operation)) continue;
          const [method = '', path = ''] = operation.split(' ');
          const sent = method === 'POST' ? { ...options, body: {} } : options;
          const { code } = (await app.sendBothWays(method, path, sent)).body;
          assert.equal(code === 'forbidden', !allowed.includes(operation), `${operation}: ${code}`);
        }
      }
    });
  }

  test('of a viewer changes nothing', async (t) => {
    const app = await openTestApp(t, { auth: { clients: 'required' } });
    const { token } = await app.accounts.tokens.create({ name: 'v', role: 'viewer', days: 1 }, 'test');
    const headers = { authorization: `Bearer ${token}` };
    const { body } = await app.get('/api/admin/session', { peer: FOREIGN, headers });
    const isPublic = (one: string) =>
      app.routes.some(({ access, paths }) => access === 'public' && one.endsWith(` ${paths[0]}`));
    const posts = (body.operations as string[]).filter((one) => one.startsWith('POST') && !isPublic(one));
    assert.deepEqual(posts, [
      'POST /api/admin/rules/check',
      'POST /api/admin/rules/import',
      'POST /api/admin/rules/try',
      'POST /api/admin/session/end',
    ]);
  });

  test('over TLS does not count over plain HTTP, nor the other way round', async (t) => {
    const app = await openTestApp(t);
    const { sent } = await start(app, { peer: FOREIGN });
    const cookies = [sent, `__Host-${sent}`];
    const over = (peer: typeof SECURE, cookie: string) =>
      app.get('/api/admin/session', { peer, headers: { cookie } });
    const statuses = await Promise.all(cookies.map((cookie) => over(SECURE, cookie)));
    assert.deepEqual(
      statuses.map(({ status }) => status),
      [401, 200],
    );
  });

  test('does not count over plain HTTP if TLS is required', async (t) => {
    const app = await openTestApp(t, { auth: { requireTls: true } });
    const { answer } = await start(app, { peer: FOREIGN });
    assert.deepEqual([answer.status, answer.body.code], [403, 'tls_required']);
    const { sent } = await start(await openTestApp(t), { peer: FOREIGN });
    const who = await app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie: sent } });
    assert.equal(who.status, 401);
  });

  test('changes nothing without what only our page can read', async (t) => {
    const app = await openTestApp(t);
    const { sent: cookie, csrf } = await start(app, { peer: FOREIGN });
    const release = (headers: Record<string, string>) =>
      app.get('/api/v4/unregister/all', { peer: FOREIGN, headers: { cookie, ...headers } });
    for (const token of ['', 'x', `${csrf}x`, 'ä'.repeat(csrf.length)]) {
      const answer = await release(token === '' ? {} : { 'x-berth-csrf': token });
      assert.deepEqual([answer.status, answer.body.code], [403, 'csrf_rejected'], token);
    }
    assert.equal((await release({ 'x-berth-csrf': csrf })).status, 200);
  });

  for (const [how, headers] of [
    ['another site', { origin: 'http://evil.example' }],
    ['another port of this machine', { origin: 'http://localhost:9090' }],
    ['a page without an origin', { origin: 'null' }],
    ['another scheme', { origin: 'https://localhost:8080' }],
    ['a site beside ours', { 'sec-fetch-site': 'same-site' }],
  ] as const) {
    test(`is neither started nor used by ${how}`, async (t) => {
      const app = await openTestApp(t);
      const { answer } = await start(app, { peer: FOREIGN, headers });
      assert.deepEqual([answer.status, answer.body.code], [403, 'csrf_rejected']);
      const { sent, csrf } = await start(await openTestApp(t), { peer: FOREIGN });
      const own = { cookie: sent, 'x-berth-csrf': csrf };
      const used = await app.post(
        '/api/admin/session/end',
        {},
        { peer: FOREIGN, headers: { ...own, ...headers } },
      );
      assert.ok(used.status === 401 || used.status === 403);
    });
  }

  test('ends with a sign-out', async (t) => {
    const app = await openTestApp(t);
    const { sent, csrf } = await start(app, { peer: FOREIGN });
    const headers = { cookie: sent, 'x-berth-csrf': csrf };
    const who = () => app.get('/api/admin/session', { peer: FOREIGN, headers });
    assert.equal((await who()).status, 200);
    const end = await app.post('/api/admin/session/end', {}, { peer: FOREIGN, headers });
    assert.match(end.headers.get('set-cookie') ?? '', /^berth=; .*Max-Age=0$/);
    assert.equal((await who()).status, 401);
  });

  test('ends after twelve hours, whether or not it was used', async (t) => {
    const app = await openTestApp(t);
    const { sent } = await start(app, { peer: FOREIGN });
    const who = () => app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie: sent } });
    app.clock.advance(SESSION_LIFETIME_MS - 1);
    assert.equal((await who()).status, 200);
    app.clock.advance(1);
    assert.equal((await who()).status, 401);
  });

  test('ends when the same browser signs in again', async (t) => {
    const app = await openTestApp(t);
    const password = await createAdministrator(app.accounts);
    const signIn = (cookie: string, secret = password) =>
      app.post(START, { name: 'admin', password: secret }, { peer: FOREIGN, headers: { cookie } });
    const cookieOf = ({ headers }: { headers: Headers }) => headers.get('set-cookie')?.split(';')[0] ?? '';
    const who = async (cookie: string) =>
      (await app.get('/api/admin/session', { peer: FOREIGN, headers: { cookie } })).status;
    const [first, other] = [cookieOf(await signIn('')), cookieOf(await signIn(''))];
    assert.equal((await signIn(first, 'wrong')).status, 401);
    assert.equal(await who(first), 200, 'a wrong password ends nothing');
    const second = cookieOf(await signIn(first));
    assert.deepEqual([await who(first), await who(second), await who(other)], [401, 200, 200]);
  });

  test('is not given for a wrong or missing name or password', async (t) => {
    const app = await openTestApp(t);
    await createAdministrator(app.accounts);
    const wrong = await app.post(START, { name: 'admin', password: 'guess' });
    const nobody = await app.post(START, { name: 'nobody', password: 'guess' });
    assert.deepEqual([wrong.status, wrong.text], [401, nobody.text]);
    assert.equal(wrong.headers.get('set-cookie'), null);
    assert.equal((await app.post(START, { name: 'admin' })).body.code, 'missing_parameters');
  });
});
