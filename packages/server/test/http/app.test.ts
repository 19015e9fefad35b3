import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { HTTP_LIMITS } from '@berth/web/limits';
import { text } from '@berth/web/reply';
import { FOREIGN, openTestApp, type TestAnswer } from '../../../../test/support/test-app.ts';
import { Fault } from '../../src/core/nouns/fault.ts';
import { defineRoute, type Route } from '../../src/http/route.ts';

function throwingRoute(path: `/${string}`, error: unknown) {
  return defineRoute(`GET POST ${path}`, {
    name: 'broken',
    access: 'public',
    summary: 'Fails',
    answer: { kind: 'empty' },
    errors: ['store_unavailable'],
    handle: () => {
      throw error;
    },
  });
}

/** A route that takes a second of the manual clock. */
function slowRoute(pass: () => void) {
  return defineRoute('GET /slow', {
    name: 'slow',
    access: 'public',
    summary: 'Takes its time',
    answer: { kind: 'text', example: 'done' },
    errors: [],
    handle: () => {
      pass();
      return text('done');
    },
  });
}

function assertProblem({ status, headers, body }: TestAnswer, code: string): void {
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(body.status, status);
  assert.equal(body.code, code);
  assert.equal(typeof body.message, 'string');
}

describe('an unknown path', () => {
  for (const path of [
    '/nothing',
    '/api',
    '/api/v4',
    '/api/v4/Register',
    '/api/v4/register//',
    '/favicon.ico',
  ]) {
    test(`${path} is a 404 in JSON`, async (t) => {
      const { get, post } = await openTestApp(t, { licenses: [] });
      for (const answer of [await get(path), await post(path, '{')]) {
        assert.equal(answer.status, 404);
        assertProblem(answer, 'not_found');
      }
    });
  }

  for (const path of ['/api/v5/ping', '/api/v3/register', '/api/v10']) {
    test(`${path} is of another version`, async (t) => {
      const { get } = await openTestApp(t, { licenses: [] });
      const answer = await get(path);
      assert.equal(answer.status, 404);
      assertProblem(answer, 'not_found');
      assert.match(answer.body.message as string, /version 4/);
      assert.doesNotMatch(answer.text, /pong/);
    });
  }

  test('another method is a 405 that lists the allowed ones, as OPTIONS does', async (t) => {
    const { send, routes } = await openTestApp(t, { licenses: [] });
    for (const { paths } of routes) {
      const here = routes.filter((route) => route.paths.includes(paths[0]));
      const isRead = here.some(
        ({ methods, takesPassword }) => !methods.includes('POST') && takesPassword !== true,
      );
      const all = [...here.flatMap(({ methods }) => methods), ...(isRead ? ['HEAD'] : []), 'OPTIONS'];
      for (const path of paths.flatMap((one) => (one === '/' ? [one] : [one, `${one}/`]))) {
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
          const answer = await send(method, path);
          const isThere = answer.status !== 405;
          assert.equal(isThere, all.includes(method), `${method} ${path}`);
          if (isThere) continue;
          if (method !== 'HEAD') assertProblem(answer, 'method_not_allowed');
          assert.equal(answer.headers.get('allow'), all.join(', '));
        }
        const { status, text: body, headers } = await send('OPTIONS', path, { peer: FOREIGN });
        assert.deepEqual([status, body, headers.get('allow')], [204, '', all.join(', ')], path);
      }
    }
    assertProblem(await send('OPTIONS', '/nothing'), 'not_found');
  });

  test('a trailing slash changes nothing, on any route or alias', async (t) => {
    const { send, routes } = await openTestApp(t, { licenses: [] });
    for (const { methods, paths, access } of routes) {
      for (const path of paths.filter((one) => one !== '/')) {
        for (const method of methods) {
          const [plain, slashed] = [await send(method, path), await send(method, `${path}/?x=1`)];
          const told = `${method} ${path}: ${slashed.text}`;
          // Admin routes refuse the unknown parameter, which shows that the same handler answers.
          const isStrict = path.startsWith('/api/admin/') && access !== 'own';
          assert.equal(slashed.status, isStrict ? 400 : plain.status, told);
          assert.equal(slashed.body.code, isStrict ? 'validation_error' : plain.body.code, told);
          assert.equal(slashed.headers.get('location'), null);
        }
      }
    }
  });

  test('HEAD is a GET without its body', async (t) => {
    const { send } = await openTestApp(t, { licenses: [] });
    const { status, text: body } = await send('HEAD', '/api/v4/health');
    assert.equal(status, 200);
    assert.equal(body, '');
  });
});

describe('a handler that crashes', () => {
  test('is a 500 with a request id; the stack is only in the log, under that id', async (t) => {
    const error = new TypeError('secret detail');
    const { get, post, log } = await openTestApp(t, { routes: [throwingRoute('/broken', error)] });
    const answer = await get('/broken?key=secret');
    assert.equal(answer.status, 500);
    assertProblem(answer, 'internal_error');
    assert.match(answer.body.request_id as string, /^[0-9a-f-]{36}$/);
    assert.doesNotMatch(answer.text, /secret|TypeError|app\.test/);
    const line = log.find(({ requestId }) => requestId === answer.body.request_id);
    assert.equal(line?.route, 'broken');
    assert.equal(line?.detail, error.stack);
    assert.equal((await post('/api/v4/register', { user: 'ann' })).status, 200, 'the others go on');
  });

  test('even if it throws something that is not an error', async (t) => {
    const { get, log } = await openTestApp(t, { routes: [throwingRoute('/broken', 'just text')] });
    const answer = await get('/broken');
    assert.equal(answer.status, 500);
    assert.equal(log[0]?.detail, 'just text');
    assert.doesNotMatch(answer.text, /just text/);
  });

  test('two crashes have two ids', async (t) => {
    const { get } = await openTestApp(t, { routes: [throwingRoute('/broken', new Error('x'))] });
    const ids = [await get('/broken'), await get('/broken')].map(({ body }) => body.request_id);
    assert.notEqual(ids[0], ids[1]);
  });

  test('a failing store is a 503 that may be retried', async (t) => {
    const fault = new Fault('store_unavailable', 'The disk is full.');
    const { get } = await openTestApp(t, { routes: [throwingRoute('/broken', fault)] });
    const answer = await get('/broken');
    assert.equal(answer.status, 503);
    assertProblem(answer, 'store_unavailable');
    assert.equal(answer.headers.get('retry-after'), '1');
  });

  test('an error that the route does not declare fails its test', async (t) => {
    const error = new RequestError('license_expired', 'It is too late.');
    const { get } = await openTestApp(t, { routes: [throwingRoute('/broken', error)] });
    await assert.rejects(get('/broken'), /"broken" does not declare the error "license_expired"/);
  });
});

const SECURITY_HEADERS: Readonly<Record<string, RegExp>> = {
  'cache-control': /^no-store$/,
  'content-security-policy': /^default-src 'none';(?!.*script).*frame-ancestors 'none'/,
  'cross-origin-resource-policy': /^same-origin$/,
  'referrer-policy': /^no-referrer$/,
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
};

test('every answer has the security headers', async (t) => {
  const broken = throwingRoute('/broken', new Error('x'));
  const { get, post, send, routes } = await openTestApp(t, { routes: [broken] });
  const answers = [
    await get('/nothing'),
    await send('DELETE', '/auth'),
    await get('/api/admin/status', { peer: FOREIGN }),
    await get('/broken'),
    await post('/api/v4/register', ' '.repeat(HTTP_LIMITS.bodyBytes + 1)),
    await post('/api/v4/register', '{'),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 405, 401, 500, 413, 400],
  );
  // Anybody may keep these for a while.
  const isPublic = ({ paths }: Route) => /^\/(?:assets|\.well-known)\//.test(paths[0]);
  for (const { methods, paths } of routes.filter((route) => !isPublic(route))) {
    for (const method of methods) answers.push(await send(method, paths[0]));
  }
  for (const { headers, text: body } of answers) {
    for (const [name, expected] of Object.entries(SECURITY_HEADERS)) {
      assert.match(headers.get(name) ?? '', expected, `${name} on ${body.slice(0, 60)}`);
    }
    assert.equal(headers.get('access-control-allow-origin'), null);
    assert.equal(headers.get('set-cookie'), null);
  }
});

describe('the log of requests', () => {
  test('has no line for successes or ordinary refusals', async (t) => {
    const { get, post, log } = await openTestApp(t);
    await post('/api/v4/register', { user: 'ann' });
    await post('/api/v4/register', {});
    await get('/nothing');
    assert.deepEqual(log, []);
  });

  test('names callers with wrong credentials, and their address', async (t) => {
    const { get, log } = await openTestApp(t);
    await get('/api/admin/status', { peer: FOREIGN });
    assert.deepEqual(
      log.map(({ route, address, status, msg }) => ({ route, address, status, msg })),
      [{ route: 'admin_status', address: FOREIGN.address, status: 401, msg: 'request refused' }],
    );
  });

  test('has a line for every request when asked to, with the name of the route', async (t) => {
    const { get, post, log } = await openTestApp(t, { logRequests: true });
    await post('/api/v4/register?token=planted', { user: 'planted' });
    await get('/api/v4/license?product=planted');
    await get('/nothing/planted');
    assert.deepEqual(
      log.map(({ route, status, ms, msg }) => ({ route, status, ms, msg })),
      [
        { route: 'register', status: 200, ms: 0, msg: 'request' },
        { route: 'license', status: 400, ms: 0, msg: 'request' },
        { route: 'unknown', status: 404, ms: 0, msg: 'request' },
      ],
    );
    assert.doesNotMatch(JSON.stringify(log), /planted/);
  });

  test('has a line for slow requests', async (t) => {
    const clock = { pass: () => {} };
    const app = await openTestApp(t, { routes: [slowRoute(() => clock.pass())], slowRequestMs: 900 });
    clock.pass = () => app.clock.advance(901);
    await app.get('/slow');
    clock.pass = () => app.clock.advance(900);
    await app.get('/slow');
    assert.deepEqual(
      app.log.map(({ route, ms, msg }) => ({ route, ms, msg })),
      [{ route: 'slow', ms: 901, msg: 'slow request' }],
    );
  });
});
