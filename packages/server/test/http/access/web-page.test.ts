import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONTROL, FOREIGN, openTestApp } from '../../../../../test/support/test-app.ts';
import { ACCESS } from '../../../src/http/route.ts';

const ALLOWED = 'http://app.example:3000';
const PAGE = { origin: ALLOWED, 'sec-fetch-site': 'cross-site' };
const FOREIGN_PAGE = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
const PREFLIGHT = { 'access-control-request-method': 'POST' };

describe('every route', () => {
  test('refuses foreign names unless it is public, and foreign pages if applications use it', async (t) => {
    const { routes, send } = await openTestApp(t, { allowedOrigins: [ALLOWED] });
    for (const { access, methods, paths, takesPassword = false } of routes) {
      const { class: kind } = ACCESS[access];
      const call = async (headers: Record<string, string>) =>
        (await send(methods[0] as string, paths[0], { peer: FOREIGN, headers })).body.code;
      const rebound = await call({ host: 'evil.example', 'sec-fetch-site': 'same-origin' });
      assert.equal(rebound === 'host_not_allowed', kind !== 'public' || takesPassword, paths[0]);
      assert.equal((await call(FOREIGN_PAGE)) === 'origin_not_allowed', kind === 'client', paths[0]);
      assert.notEqual(await call(PAGE), 'origin_not_allowed', paths[0]);
      assert.notEqual(await call({ host: 'evil.example' }), 'host_not_allowed', paths[0]);
    }
  });

  test('except administration lets allowed pages send requests and read answers', async (t) => {
    const { routes, send } = await openTestApp(t, { allowedOrigins: [ALLOWED] });
    for (const { access, methods, paths } of routes) {
      for (const path of paths) {
        const headers = { ...PAGE, ...PREFLIGHT };
        const asked = await send('OPTIONS', path, { peer: FOREIGN, headers });
        const isOpen = ACCESS[access].class !== 'admin';
        assert.equal(asked.status, 204, path);
        assert.equal(asked.headers.get('access-control-allow-methods') !== null, isOpen, path);
        const answer = await send(methods[0] as string, path, { peer: FOREIGN, headers: PAGE });
        for (const { headers: told } of [asked, answer]) {
          assert.equal(told.get('access-control-allow-origin'), isOpen ? ALLOWED : null, path);
        }
      }
    }
  });
});

describe('a browser', () => {
  test('can use the full name of the machine', async (t) => {
    const { get } = await openTestApp(t);
    const under = async (host: string) =>
      (await get('/api/v4/license', { headers: { host, 'sec-fetch-site': 'same-origin' } })).status;
    for (const host of ['vm', 'VM:8080', 'vm.example.com', 'vm.example.com.:8080']) {
      assert.equal(await under(host), 200, host);
    }
    for (const host of ['vm.evil.example', '', '[::1', '[evil.example]', 'x@localhost', '[]']) {
      assert.equal(await under(host), 403, host);
    }
  });

  test('may navigate to a page, but not send anything that way', async (t) => {
    const { get, post } = await openTestApp(t);
    const headers = { 'sec-fetch-site': 'none' };
    assert.equal((await get('/api/v4/license', { headers })).status, 200);
    const answer = await post('/api/v4/register', { user: 'ann' }, { headers });
    assert.deepEqual([answer.status, answer.body.code], [403, 'origin_not_allowed']);
  });

  test('can also use our own page over TLS', async (t) => {
    const { post } = await openTestApp(t);
    const register = async (origin: string) =>
      (
        await post(
          '/api/v4/register',
          { user: 'ann' },
          { peer: { ...FOREIGN, isSecure: true }, headers: { origin } },
        )
      ).status;
    assert.equal(await register('https://localhost:8080'), 200);
    assert.equal(await register('http://localhost:8080'), 403);
  });

  test('gets a short refusal, however long its origin is', async (t) => {
    const { get } = await openTestApp(t);
    const long = `https://${'a'.repeat(5000)}.example`;
    const answer = await get('/api/v4/license', { headers: { origin: long } });
    assert.equal(answer.body.setting, 'http.allowedOrigins');
    assert.ok(answer.text.length < 500);
  });
});

describe('requests that do not come from a page', () => {
  test('an OPTIONS that is not a preflight gets the methods', async (t) => {
    const { send } = await openTestApp(t, { allowedOrigins: [ALLOWED] });
    for (const headers of [{}, { origin: ALLOWED }, PREFLIGHT]) {
      const answer = await send('OPTIONS', '/api/v4/register', { headers });
      assert.deepEqual([answer.status, answer.headers.get('allow')], [204, 'POST, OPTIONS']);
    }
  });

  test('the command line is not a browser, whatever its headers', async (t) => {
    const { get } = await openTestApp(t);
    const headers = { ...FOREIGN_PAGE, host: 'evil.example' };
    assert.equal((await get('/api/v4/license', { peer: CONTROL, headers })).status, 200);
  });
});
