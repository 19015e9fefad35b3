import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { openTestApp, START } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { HOUR_MS, instant } from '../../../../src/core/nouns/instant.ts';

type Facts = Readonly<Record<string, unknown>>;

test('every JSON answer is what its route declares', async (t) => {
  const { routes, send, post } = await openTestApp(t, { licenses: [testLicense(1)] });
  await post('/api/v4/borrow', { user: 'ann' });
  const needy = [
    'auth',
    'set_keys',
    'set_password',
    'add_product',
    'remove_product',
    'admin_history_what_if',
    'admin_rules_revision',
    'admin_rules_members',
    'admin_rules_explain',
  ];
  const asked = routes.filter(({ methods, name }) => methods.includes('GET') && !needy.includes(name));
  for (const { answer, paths } of asked) {
    if (answer.kind !== 'json') continue;
    const { status, text } = await send('GET', paths[0]);
    assert.equal(status, 200, paths[0]);
    const result = answer.schema.safeParse(JSON.parse(text));
    assert.ok(result.success, `${paths[0]}: ${result.error && z.prettifyError(result.error)}`);
  }
});

test('the status describes the server', async (t) => {
  const { get, post, folder } = await openTestApp(t);
  await post('/api/v4/register', { user: 'ann' });
  const { body } = await get('/api/admin/status');
  const { store, clock, cloud, webhooks, syslog, events_file, backup, ...others } = body;
  const { cloud_keys, master_key, identity_key, ...rest } = others;
  assert.match(identity_key as string, /^[0-9a-f]{64}$/);
  const running = { version: '1.2.3', url: null, tls: null, uptime_seconds: 0, data: folder, healthy: true };
  const alone = { database: null, leader: true };
  assert.deepEqual(rest, { ...running, ...alone, hardware_id: 'test-machine' });
  assert.equal((cloud as Facts).state, 'not_configured');
  for (const { state } of [webhooks, syslog, events_file] as Facts[]) assert.equal(state, 'off');
  const { is_key_kept, ...made } = backup as Facts;
  assert.equal(is_key_kept, false);
  assert.ok(Object.values(made).every((value) => value === null));
  const { identity, engine, ...facts } = store as Facts;
  assert.match(identity as string, /^[0-9a-f]{32}$/);
  assert.match(engine as string, /^SQLite 3\./);
  assert.equal(facts.licenses, 1);
  assert.equal(facts.registrations, 1);
  assert.equal((clock as Facts).jump, null);
  assert.deepEqual(cloud_keys, { api_key_fingerprint: null, shared_key_fingerprint: null });
  const { fingerprint, ...origin } = master_key as Facts;
  assert.match(fingerprint as string, /^[0-9a-f]{16}$/);
  assert.deepEqual(origin, { source: 'file', file: join(folder, 'master.key') });
});

test('licenses are listed with their state, source and use', async (t) => {
  const licenses = [testLicense(1), testLicense(2, { product: 'cam', validUntil: instant(0) })];
  const { get, post } = await openTestApp(t, { licenses });
  await post('/api/v4/borrow', { product: 'cad', user: 'ann' });
  await post('/api/v4/register', { product: 'cad', user: 'bob' });
  const list = async (query: string) =>
    ((await get(`/api/admin/licenses${query}`)).body.licenses as Facts[]).map(
      ({ id, state, ends_at, source, floating_in_use, borrowed, added_at }) => ({
        id,
        state,
        ends_at,
        source,
        floating_in_use,
        borrowed,
        added_at,
      }),
    );
  const shared = { source: 'offline', added_at: new Date(START).toISOString() };
  const cad = { id: 1, state: 'active', ends_at: null, floating_in_use: 2, borrowed: 1, ...shared };
  const cam = {
    id: 2,
    state: 'expired',
    ends_at: '1970-01-01T00:00:00.000Z',
    floating_in_use: 0,
    borrowed: 0,
    ...shared,
  };
  assert.deepEqual(await list(''), [cam, cad]);
  assert.deepEqual(await list('?product=cad'), [cad]);
  assert.deepEqual(await list('?license_id=2'), [cam]);
  assert.deepEqual(await list('?license_id=3'), []);
});

describe('the clock', () => {
  test('agrees, so there is nothing to accept or to reset', async (t) => {
    const { get, send } = await openTestApp(t);
    const at = new Date(START).toISOString();
    const expected = { server_at: at, wall_at: at, ahead_ms: 0, jump: null, jump_at_start: null };
    assert.deepEqual((await get('/api/admin/clock')).body, expected);
    const accept = await send('POST', '/api/admin/clock/accept');
    assert.equal(accept.status, 400);
    assert.equal(accept.body.code, 'clock_not_ahead');
    assert.equal((await send('POST', '/api/admin/clock/reset')).body.code, 'clock_not_poisoned');
  });

  test('a jump ahead is shown, and followed when it is accepted', async (t) => {
    const { get, send, clock } = await openTestApp(t);
    clock.setWall(instant(START + HOUR_MS));
    const seen_at = new Date(START).toISOString();
    const jump = { direction: 'ahead', seen_at, gap_ms: HOUR_MS };
    assert.deepEqual((await get('/api/admin/clock')).body.jump, jump);
    const { status, body } = await send('POST', '/api/admin/clock/accept');
    assert.equal(status, 200);
    assert.equal(body.server_at, new Date(START + HOUR_MS).toISOString());
    assert.equal(body.jump, null);
  });

  test('a time that is ahead is reset to the wall clock', async (t) => {
    const { get, send, clock } = await openTestApp(t);
    clock.setWall(instant(START - HOUR_MS));
    assert.equal((await get('/api/admin/clock')).body.ahead_ms, HOUR_MS);
    assert.equal((await send('POST', '/api/admin/clock/reset')).body.ahead_ms, 0);
  });

  test('a reset restores borrows, or names those it cannot restore and changes nothing', async (t) => {
    const { get, post, send, clock } = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })] });
    const reset = (body: object) => post('/api/admin/clock/reset', body);
    const until = new Date(START + 2 * HOUR_MS).toISOString();
    await post('/api/v4/borrow', { user: 'ada', borrowed_until: until });
    clock.setWall(instant(START + 24 * HOUR_MS));
    await send('POST', '/api/admin/clock/accept');
    clock.advance(HOUR_MS);
    await post('/api/v4/register', { user: 'bob' });
    clock.setWall(instant(START + HOUR_MS));
    const named = { license_id: 1, product: 'cad', feature: null, user: 'ada', borrowed_until: until };
    const refused = await reset({});
    assert.deepEqual([refused.status, refused.body.code], [400, 'borrows_not_restorable']);
    const [borrow] = refused.body.borrows as Record<string, unknown>[];
    assert.deepEqual(
      { ...borrow, reason: undefined },
      {
        ...named,
        code: 'floating_not_available',
        reason: undefined,
      },
    );
    const trial = await reset({ dry_run: true });
    assert.deepEqual(
      [trial.status, (trial.body.lost as unknown[]).length, trial.body.restored],
      [200, 1, []],
    );
    assert.equal((await get('/api/admin/clock')).body.ahead_ms, 24 * HOUR_MS);
    await post('/api/v4/unregister', { user: 'bob' });
    const done = await reset({});
    assert.deepEqual([done.body.ahead_ms, done.body.restored, done.body.lost], [0, [named], []]);
  });
});
