import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp, readTraces, type TestApp } from '../../../../test/support/test-app.ts';
import { isStrict, type Route } from '../../src/http/route.ts';

interface Sent {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Requests with one extra field, or an empty one, wherever a route could read one. */
function slipsOf({ methods, paths, query, body }: Route): readonly Sent[] {
  return methods.flatMap((method) =>
    paths.flatMap((path) => {
      const named = { method, path };
      const inUrl = ['unheard_of=1', ...Object.keys(query?.shape ?? {}).map((field) => `${field}=`)];
      const slips: Sent[] = inUrl.map((text) => ({ ...named, what: text, path: `${path}?${text}` }));
      if (method !== 'POST') return slips;
      const blank = Object.keys(body?.shape ?? {}).flatMap((field) => [
        { [field]: null },
        { [field]: '' },
        { [field]: '  ' },
      ]);
      const inBody = [{ unheard_of: 1 }, { unheard_of: null }, ...blank];
      return [...slips, ...inBody.map((sent) => ({ ...named, what: JSON.stringify(sent), body: sent }))];
    }),
  );
}

async function expectRefused(
  app: TestApp,
  token: string | null,
  { what, method, path, body }: Sent,
): Promise<void> {
  const answer = await app.send(method, path, {
    headers: { authorization: `Bearer ${token}` },
    ...(method === 'POST' ? { body: body ?? {} } : {}),
  });
  const told = `${method} ${path} ${what}: ${answer.text}`;
  assert.deepEqual([answer.status, answer.body.code], [400, 'validation_error'], told);
}

describe('every route under /api/admin', () => {
  test('refuses an unknown field and a field without a value, and changes nothing', async (t) => {
    const app = await openTestApp(t);
    await app.post('/api/v4/register', { user: 'ann' });
    // Some are about the caller's own account.
    const ada = { name: 'ada', password: 'a password of my own' };
    await app.accounts.add({ ...ada, role: 'admin' }, 'test');
    const token = await app.accounts.signIn({ ...ada, address: '::1' });
    const before = await readTraces(app.store);
    const slips = app.routes.filter(isStrict).flatMap(slipsOf);
    assert.ok(slips.length > 100, String(slips.length));
    for (const slip of slips) await expectRefused(app, token, slip);
    assert.deepEqual(await readTraces(app.store), before);
  });

  test('says which field was probably meant', async (t) => {
    const app = await openTestApp(t);
    const { body } = await app.post('/api/admin/audit/thin', { before: '2030-01-01', licence_id: 1 });
    assert.equal(
      body.message,
      'This request has no field "licence_id". Did you mean "license_id"? ' +
        'Its fields are before, license_id, chain, own_password, code.',
    );
    assert.equal(body.field, 'licence_id');
    const none = await app.post('/api/admin/clock/accept', { dry_run: true });
    assert.equal(none.body.message, 'This request has no field "dry_run". It has no fields.');
    const long = await app.post('/api/admin/clock/accept', { ['x'.repeat(60_000)]: 1 });
    assert.ok(long.text.length < 400);
  });

  test('accepts its fields in any case and in camelCase, as the v4 API does', async (t) => {
    const app = await openTestApp(t);
    await app.post('/api/v4/register', { user: 'ann' });
    const { body } = await app.post('/api/admin/registrations/release', { User: 'ann', licenseId: 1 });
    assert.deepEqual(body, { released: 1 });
  });
});

test('a route of the v4 API ignores unknown fields', async (t) => {
  const app = await openTestApp(t);
  const body = { user: 'ann', sdk_ver: '1.0', app_ver: null, unheard_of: '' };
  assert.equal((await app.post('/api/v4/register?unheard_of=1', body)).status, 200);
  const keys = { apiKey: 'an-api-key', sharedKey: null, sdk_ver: '1.0' };
  assert.equal((await app.post('/api/v4/setKeys', keys)).status, 200);
});
