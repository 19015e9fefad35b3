import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { otherSpellings } from '@berth/protocol/api/spelling';
import { type InputRules, readInput } from '@berth/web/read-input';
import { toHttpRequest } from '../../../../test/support/fetch-app.ts';
import { CONTROL, openTestApp, type TestApp } from '../../../../test/support/test-app.ts';
import { testLicense } from '../../../../test/support/test-license.ts';
import { inputOf, isStrict, type Route } from '../../src/http/route.ts';

const TARGET = { product: 'cad', user: 'ann', feature: 'export', licenseKey: 'K' };

/** All ways to ask a v4 route for a license by its id. */
function askedById(routes: readonly Route[]) {
  return routes
    .filter((route) => !isStrict(route))
    .flatMap((route) => route.methods.map((method) => ({ route, method, ...inputOf(route, method) })))
    .flatMap(({ route, method, query, body }) =>
      Object.keys((query ?? body)?.shape ?? {})
        .filter((field) => field === 'license_id' || field === 'licenseId')
        .flatMap((field) => route.paths.map((path) => ({ path, method, field }))),
    );
}

async function fateOf(app: TestApp, { path, method }: { path: string; method: string }, fields: object) {
  const words = Object.entries(fields).map(([name, value]) => [name, String(value ?? '')]);
  const url = method === 'GET' ? `${path}?${new URLSearchParams(words)}` : path;
  const answer = await app.send(method, url, {
    peer: CONTROL,
    ...(method === 'GET' ? {} : { body: fields }),
  });
  return `${answer.status} ${answer.body.code ?? ''} ${answer.body.message ?? ''}`;
}

describe('a license id that means none', () => {
  test('is 0, null or blank, as a number or as text, wherever the v4 API takes one', async (t) => {
    const app = await openTestApp(t, { licenses: [testLicense(1), testLicense(2, { product: 'cam' })] });
    const asked = askedById(app.routes);
    assert.ok(asked.length >= 12, String(asked.length));
    await app.post('/api/v4/register', TARGET);
    for (const one of asked) {
      if (one.path.endsWith('unregister')) continue;
      const without = await fateOf(app, one, TARGET);
      for (const none of [0, '0', null, '']) {
        const fields = { ...TARGET, [one.field]: none };
        assert.equal(await fateOf(app, one, fields), without, `${one.method} ${one.path} ${none}`);
      }
      assert.notEqual(await fateOf(app, one, { ...TARGET, [one.field]: -1 }), without);
    }
    for (const license_id of [0, '0', null]) {
      await app.post('/api/v4/register', TARGET);
      const { text } = await app.post('/api/v4/unregister', { ...TARGET, license_id });
      assert.equal(text, 'user_unregistered');
    }
  });

  test('is refused where an administrator would mean all licenses by it', async (t) => {
    const app = await openTestApp(t);
    const strict = app.routes.filter((route) => isStrict(route) && route.methods.includes('POST'));
    const asked = strict.filter(({ body }) => body !== undefined && Object.hasOwn(body.shape, 'license_id'));
    assert.ok(asked.length >= 5, String(asked.length));
    for (const { paths } of asked) {
      for (const license_id of [0, '0']) {
        const { body } = await app.post(paths[0], { license_id }, { peer: CONTROL });
        assert.deepEqual([body.code, body.field], ['validation_error', 'license_id'], paths[0]);
      }
    }
  });
});

test('a license is borrowed until a date with any number of fraction digits', async (t) => {
  const { post } = await openTestApp(t);
  const borrowed_until = '2030-01-16t13:30:00.12345678901234567890+01:00';
  const { body } = await post('/api/v4/borrow', { user: 'ann', borrowed_until });
  assert.equal(body.borrowed_until, '2030-01-16T12:30:00.123Z');
});

test('fields in a URL are accepted in any case and both spellings, but not twice', async (t) => {
  const { get, post } = await openTestApp(t);
  for (const query of ['apiKey=k1&sharedKey=s1', 'APIKEY=k2&shared_key=s2', 'api_key=k3&sharedkey=s3']) {
    const { body } = await get(`/api/v4/setKeys?${query}`);
    assert.deepEqual(body.changed, ['api_key', 'shared_key'], query);
  }
  assert.equal((await get('/api/v4/license?Product=cad')).status, 200);
  for (const query of ['apiKey=k&api_key=k', 'apiKey=k&APIKEY=k']) {
    assert.equal((await get(`/api/v4/setKeys?${query}`)).body.code, 'validation_error', query);
  }
  const removed = await post('/api/v4/removeProduct', { product: 'cad', licenseId: 99 });
  assert.equal(removed.body.code, 'license_not_found');
});

const UNTIL = '2030-01-16T12:30:00.000Z';
const LATER = '2030-01-16T20:00:00.000Z';

describe('the keys of a body', () => {
  test('are accepted as documented and in camelCase, in every body', async (t) => {
    const { routes } = await openTestApp(t);
    const bodies = routes.map((route) => inputOf(route, 'POST')).filter(({ body }) => body !== undefined);
    assert.ok(bodies.length > 30, String(bodies.length));
    for (const rules of bodies) {
      const names = Object.keys(rules.body?.shape ?? {});
      const known = names.flatMap((name) => [name, ...otherSpellings(name)]);
      assert.equal(new Set(known).size, known.length, `Two fields with one spelling: ${names}`);
      for (const name of names.filter((one) => one.includes('_'))) {
        const documented = await readFitting(rules, name);
        assert.ok(documented !== undefined, name);
        assert.deepEqual(await readFitting(rules, camelCase(name)), documented);
      }
    }
  });

  test('borrow for as long as they say, and the documented one counts', async (t) => {
    const { post } = await openTestApp(t);
    for (const [key, until] of Object.entries({
      borrowedUntil: UNTIL,
      borrow_until: LATER,
      borrowUntil: UNTIL,
    })) {
      const { body } = await post('/api/v4/borrow', { user: 'ann', [key]: until });
      assert.equal(body.borrowed_until, until, key);
    }
    const both = { borrowedUntil: UNTIL, borrowed_until: LATER };
    assert.equal((await post('/api/v4/borrow', { user: 'ann', ...both })).body.borrowed_until, LATER);
    const none = { borrowedUntil: UNTIL, borrowed_until: null };
    assert.equal((await post('/api/v4/borrow', { user: 'ann', ...none })).body.borrowed_until, UNTIL);
  });

  test('are probably a date to borrow until if they resemble it and it is missing', async (t) => {
    const { post } = await openTestApp(t);
    for (const path of ['borrow', 'featureRegister']) {
      for (const key of ['borrowedUntill', 'borrowed-until', 'borrow_util', 'borrowUtil', 'borroed_until']) {
        const { body } = await post(`/api/v4/${path}`, { user: 'ann', feature: 'render', [key]: UNTIL });
        const name = key.toLowerCase();
        assert.deepEqual([body.code, body.field], ['validation_error', name], `${path} ${key}`);
        assert.equal(body.message, `This request has no field "${name}". Did you mean "borrowed_until"?`);
      }
    }
    const inUrl = await post(`/api/v4/borrow?borrowed_until=${UNTIL}`, { user: 'ann' });
    assert.equal(inUrl.body.message, 'Send "borrowed_until" in the body.');
    const misspelt = { user: 'ann', borrowed_until: UNTIL, borowed_until: LATER };
    assert.equal((await post('/api/v4/borrow', misspelt)).body.borrowed_until, UNTIL);
    assert.equal((await post('/api/v4/register', { user: 'ann', borowed_until: LATER })).status, 200);
  });

  test('may be those of an answer that is sent back, in either spelling', async (t) => {
    const { post } = await openTestApp(t);
    const { body: answer } = await post('/api/v4/register', { user: 'ann' });
    const camel = Object.fromEntries(Object.entries(answer).map(([name, value]) => [camelCase(name), value]));
    for (const sent of [answer, camel]) {
      for (const path of ['register', 'borrow', 'unregister']) {
        const { text, status } = await post(`/api/v4/${path}`, { ...sent, user: 'ann' });
        assert.equal(status, 200, `${path} ${text}`);
      }
    }
  });
});

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What is read from a body with this key and the first value that is accepted. */
async function readFitting(rules: InputRules, key: string): Promise<object | undefined> {
  for (const value of [1, 'x', 'user', 'activation', UNTIL, true, 'n'.repeat(16)]) {
    const body = JSON.stringify({ [key]: value });
    const request = new Request('http://server/', { method: 'POST', body });
    const read = async () => (await readInput(rules, toHttpRequest(request))).body;
    const found = await read().catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}
