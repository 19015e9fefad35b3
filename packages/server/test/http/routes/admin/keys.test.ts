import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openTestApp, readEvents } from '../../../../../../test/support/test-app.ts';

type Facts = Readonly<Record<string, string | null>>;

describe('the keys of the server', () => {
  test('are shown by their fingerprints, in a list and in the status', async (t) => {
    const { get, post, folder } = await openTestApp(t);
    await post('/api/v4/setKeys', { apiKey: 'planted' });
    const { body, text } = await get('/api/admin/keys');
    const { cloud_keys, master_key } = body as unknown as { cloud_keys: Facts; master_key: Facts };
    assert.match(cloud_keys.api_key_fingerprint ?? '', /^[0-9a-f]{8}$/);
    assert.equal(cloud_keys.shared_key_fingerprint, null);
    assert.deepEqual([master_key.source, master_key.file], ['file', join(folder, 'master.key')]);
    const status = (await get('/api/admin/status')).body;
    assert.deepEqual([status.cloud_keys, status.master_key], [cloud_keys, master_key]);
    assert.doesNotMatch(text, /planted/);
  });

  test('the master key is replaced, and everything continues to work', async (t) => {
    const { get, post, send, credentials, store } = await openTestApp(t);
    await post('/api/v4/setKeys', { apiKey: 'one', sharedKey: 'two' });
    const { status, body } = await send('POST', '/api/admin/keys/rotate');
    assert.equal(status, 200);
    assert.match(body.fingerprint as string, /^[0-9a-f]{16}$/);
    assert.notEqual(body.fingerprint, body.replaced);
    assert.equal(((await get('/api/admin/keys')).body.master_key as Facts).fingerprint, body.fingerprint);
    assert.deepEqual(await credentials.readKeys(), { apiKey: 'one', sharedKey: 'two' });
    assert.equal((await get('/api/admin/audit/verify')).body.ok, true);
    const event = { kind: 'master_key_rotated', from: body.replaced, to: body.fingerprint };
    const who = { by: 'local', origin: '127.0.0.1' };
    assert.deepEqual((await readEvents(store)).at(-1), { ...event, ...who });
  });

  test('the master key is replaced by a valid one that is sent; it is never shown', async (t) => {
    const { post, log } = await openTestApp(t, { logRequests: true });
    const key = randomBytes(32).toString('hex');
    const { status, text } = await post('/api/admin/keys/rotate', { new_key: key });
    assert.equal(status, 200);
    for (const wrong of [key, key.slice(1), 'planted']) {
      const answer = await post('/api/admin/keys/rotate', { new_key: wrong });
      assert.deepEqual([answer.status, answer.body.code], [400, 'validation_error']);
      assert.ok(!answer.text.includes(wrong));
    }
    assert.ok(!text.includes(key) && !JSON.stringify(log).includes(key));
  });

  test('the master key is exported under a passphrase of sufficient length', async (t) => {
    const { post, routes, log } = await openTestApp(t, { logRequests: true });
    const path = '/api/admin/keys/export';
    for (const [body, code] of [
      [{}, 'missing_parameters'],
      [{ passphrase: ' ' }, 'validation_error'],
      [{ passphrase: 'tooshort-11' }, 'validation_error'],
      [{ passphrase: 'planted'.repeat(80) }, 'validation_error'],
    ] as const) {
      const answer = await post(path, body);
      assert.deepEqual([answer.status, answer.body.code], [400, code]);
      assert.doesNotMatch(answer.text, /planted|tooshort/);
    }
    const { status, body } = await post(path, { passphrase: 'planted, and long enough' });
    assert.equal(status, 200);
    const answer = routes.find(({ paths }) => paths[0] === path)?.answer;
    assert.ok(answer?.kind === 'json' && answer.schema.safeParse(body).success);
    assert.doesNotMatch(JSON.stringify([log, body]), /planted/);
  });
});
