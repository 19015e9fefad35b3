import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  createAdministrator,
  FOREIGN,
  openTestApp,
  readEvents,
} from '../../../../../test/support/test-app.ts';
import { TOKEN_LIFETIME_MS } from '../../../src/core/access/token.ts';

function basic(name: string, password: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

describe('public routes', () => {
  test('the root identifies the server', async (t) => {
    const { get } = await openTestApp(t, { licenses: [] });
    const { status, body } = await get('/', { peer: FOREIGN });
    assert.equal(status, 200);
    assert.deepEqual(body, { name: 'berth', version: '1.2.3', docs: '/api/v4/docs' });
  });

  test('health is 200 when the server can lend', async (t) => {
    const { get } = await openTestApp(t, { licenses: [] });
    const { status, body } = await get('/api/v4/health', { peer: FOREIGN });
    assert.equal(status, 200);
    assert.deepEqual(body, { status: 'ok' });
  });
});

describe('signing in', () => {
  test('returns a token for administration, of which only the hash is stored', async (t) => {
    const app = await openTestApp(t);
    const headers = basic('admin', await createAdministrator(app.accounts));
    const { status, body } = await app.get('/auth', { headers, peer: FOREIGN });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['message', 'token']);
    assert.equal(body.message, 'Login successful');
    const token = body.token as string;
    assert.match(token, /^[\w-]{43}$/);
    const bearer = { authorization: `Bearer ${token}` };
    const admin = await app.get('/api/admin/status', { headers: bearer, peer: FOREIGN });
    assert.equal(admin.status, 200);
    const stored = readdirSync(app.folder).map((name) => readFileSync(join(app.folder, name), 'latin1'));
    const hash = createHash('sha256').update(token).digest('hex');
    assert.ok(stored.some((bytes) => bytes.includes(hash)));
    assert.ok(!stored.some((bytes) => bytes.includes(token)));
  });

  test('a token is extended while it is used, and ends some time after its last use', async (t) => {
    const app = await openTestApp(t);
    const headers = basic('admin', await createAdministrator(app.accounts));
    const { body } = await app.get('/auth', { headers });
    const ask = () =>
      app.get('/api/admin/clock', { headers: { authorization: `bearer  ${body.token}` }, peer: FOREIGN });
    app.clock.advance(TOKEN_LIFETIME_MS - 1);
    await app.store.execute({ kind: 'accept_clock', by: 'test' });
    assert.equal((await ask()).status, 200);
    app.clock.advance(TOKEN_LIFETIME_MS - 1);
    assert.equal((await ask()).status, 200);
    app.clock.advance(TOKEN_LIFETIME_MS);
    assert.equal((await ask()).status, 401);
  });

  test('a wrong name and a wrong password get the same answer', async (t) => {
    const app = await openTestApp(t);
    await createAdministrator(app.accounts);
    const wrongPassword = await app.get('/auth', { headers: basic('admin', 'guess') });
    const wrongName = await app.get('/auth', { headers: basic('nobody', 'guess') });
    assert.equal(wrongPassword.status, 401);
    assert.equal(wrongPassword.body.code, 'unauthorized');
    assert.equal(wrongName.text, wrongPassword.text);
    assert.deepEqual([...wrongName.headers], [...wrongPassword.headers]);
    assert.equal(wrongName.headers.get('www-authenticate'), null);
  });

  test('is audited, whether it succeeds or fails, with the address', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    const password = await createAdministrator(app.accounts);
    await app.get('/auth', { headers: basic('admin', 'guess'), peer: FOREIGN });
    await app.get('/auth', { headers: basic('admin', password), peer: FOREIGN });
    const who = { account: 'admin', by: 'admin', origin: FOREIGN.address };
    assert.deepEqual((await readEvents(app.store)).slice(-2), [
      { kind: 'sign_in_failed', ...who },
      { kind: 'signed_in', ...who },
    ]);
  });

  const unreadable: Readonly<Record<string, string | null>> = {
    'no header': null,
    'an empty header': '',
    'another scheme': 'Bearer abc',
    'no colon': `Basic ${Buffer.from('admin').toString('base64')}`,
    'no name': `Basic ${Buffer.from(':x').toString('base64')}`,
    'no base64': 'Basic ä',
    'a name of 257 characters': basic('n'.repeat(257), 'x').authorization,
    'a password of 257 characters': basic('admin', 'x'.repeat(257)).authorization,
    'control characters': basic('admin\u001b[2J', 'x').authorization,
  };

  for (const [what, authorization] of Object.entries(unreadable)) {
    test(`${what}: refused with how to do it, and nothing is stored`, async (t) => {
      const app = await openTestApp(t, { licenses: [] });
      const headers: Record<string, string> = authorization === null ? {} : { authorization };
      const { status, body } = await app.get('/auth', { headers });
      assert.equal(status, 401);
      assert.equal(body.code, 'unauthorized');
      assert.match(body.message as string, /HTTP Basic/);
      assert.deepEqual(await readEvents(app.store), []);
    });
  }

  test('wrong user and wrong password get the same answer, and both are recorded', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    await createAdministrator(app.accounts);
    const wrong = await app.get('/auth', { headers: basic('admin', 'guess') });
    const nobody = await app.get('/auth', { headers: basic('nobody', 'guess') });
    assert.equal(wrong.text, nobody.text);
    assert.deepEqual([...wrong.headers], [...nobody.headers]);
    const kinds = (await readEvents(app.store)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['account_created', 'sign_in_failed', 'sign_in_failed']);
  });

  test('many wrong passwords slow down that account from there, on every route', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    const password = await createAdministrator(app.accounts);
    const headers = basic('admin', 'guess');
    for (let n = 0; n < 5; n++) assert.equal((await app.get('/auth', { headers })).status, 401);
    const right = { headers: basic('admin', password) };
    const slowed = await app.get('/auth', right);
    assert.deepEqual([slowed.status, slowed.headers.get('retry-after')], [429, '1']);
    assert.equal(slowed.body.retry_after_seconds, 1);
    const session = await app.post('/api/admin/session/start', { name: 'admin', password });
    assert.equal(session.status, 429);
    const change = { passwordOld: password, passwordNew: 'a password of my own' };
    assert.equal((await app.post('/api/v4/setPassword', change)).status, 429);
    assert.equal((await app.get('/auth', { ...right, peer: FOREIGN })).status, 200, 'from elsewhere');
    app.clock.advance(1000);
    assert.equal((await app.get('/auth', right)).status, 200);
  });

  test('is not possible over plain HTTP if TLS is required', async (t) => {
    const app = await openTestApp(t, { licenses: [], auth: { requireTls: true } });
    const headers = basic('admin', await createAdministrator(app.accounts));
    assert.equal((await app.get('/auth', { headers })).body.code, 'tls_required');
    assert.equal((await app.get('/auth', { headers, peer: { ...FOREIGN, isSecure: true } })).status, 200);
  });

  test('accepts every password that can be set, and no name with hidden characters', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    const password = 'family \u{1f468}\u200d\u{1f469} and all';
    await app.accounts.add({ name: 'ann', role: 'user', password }, 'test');
    assert.equal((await app.get('/auth', { headers: basic('ann', password) })).status, 200);
    const hidden = await app.get('/auth', { headers: basic('\u202enna', password) });
    assert.match(hidden.body.message as string, /HTTP Basic/);
  });
});
