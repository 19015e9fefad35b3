import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp, readTraces, START } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { LIMITS } from '../../../../src/config.ts';
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/nouns/instant.ts';
import { exampleFeature } from '../../../core/examples.ts';

const TWO = [testLicense(1), testLicense(2, { product: 'cam' })];

function listUsers({ registrations }: Readonly<Record<string, unknown>>): string[] {
  return (registrations as { user: string }[]).map(({ user }) => user);
}

describe('who holds a slot', () => {
  test('is listed with everything that is known', async (t) => {
    const { post, get } = await openTestApp(t);
    const host = { os_hostname: 'h1', ip_local: '10.0.0.1', user_info: 'x' };
    await post('/api/v4/register', { user: 'ann', ...host });
    await post('/api/v4/borrow', { user: 'bob' });
    const { status, body } = await get('/api/admin/registrations');
    assert.equal(status, 200);
    const registered_at = new Date(START).toISOString();
    const known = { license_id: 1, product: 'cad', address: '127.0.0.1', credential: null, registered_at };
    const shared = { ...known, programs: 1, features: [] };
    const ends_at = new Date(START + 10 * MINUTE_MS).toISOString();
    const until = new Date(START + 168 * HOUR_MS).toISOString();
    const nowhere = { os_hostname: null, ip_local: null, user_info: null };
    const idle = { is_borrowed: false, borrowed_until: null };
    assert.equal(body.matched, 2);
    assert.deepEqual(body.registrations, [
      { ...shared, user: 'ann', ...host, ends_at, ...idle },
      { ...shared, user: 'bob', ...nowhere, ends_at: until, is_borrowed: true, borrowed_until: until },
    ]);
  });

  test('facts about a holder stay until a request brings newer ones', async (t) => {
    const license = testLicense(1, { features: [exampleFeature('render')] });
    const { post, get, send, clock } = await openTestApp(t, { licenses: [license] });
    const host = { os_hostname: 'h1', ip_local: '10.0.0.1', user_info: 'x' };
    await post('/api/v4/register', { user: 'ann', ...host });
    const readFacts = async () => {
      const { body } = await get('/api/admin/registrations');
      const [record] = body.registrations as Record<string, unknown>[];
      const { os_hostname, ip_local, user_info, address, registered_at } = record ?? {};
      return { os_hostname, ip_local, user_info, address, registered_at };
    };
    const first = { ...host, address: '127.0.0.1', registered_at: new Date(START).toISOString() };
    const blank = { os_hostname: '', ip_local: null };
    for (const [path, fields] of [
      ['register', {}],
      ['register', blank],
      ['featureRegister', { feature: 'render' }],
      ['borrow', {}],
      ['register', {}],
    ] as const) {
      clock.advance(MINUTE_MS);
      const { status } = await post(`/api/v4/${path}`, { user: 'ann', ...fields });
      assert.equal(status, 200, path);
      assert.deepEqual(await readFacts(), first, path);
    }
    const peer = { address: '192.0.2.7', isControl: false };
    await send('POST', '/api/v4/register', { peer, body: { user: 'ann', os_hostname: 'h2' } });
    assert.deepEqual(await readFacts(), { ...first, os_hostname: 'h2', address: '192.0.2.7' });
  });

  test('can be filtered by product, license and user', async (t) => {
    const { post, get } = await openTestApp(t, { licenses: TWO });
    await post('/api/v4/register', { product: 'cad', user: 'ann' });
    await post('/api/v4/register', { product: 'cam', user: 'ann' });
    await post('/api/v4/register', { product: 'cam', user: 'bob' });
    const expected: Readonly<Record<string, string[]>> = {
      '': ['ann', 'ann', 'bob'],
      '?product=cam': ['ann', 'bob'],
      '?license_id=1': ['ann'],
      '?user=bob': ['bob'],
      '?product=cam&license_id=2&user=ann': ['ann'],
      '?product=nothing': [],
      '?after_license_id=1&after_user=ann': ['ann', 'bob'],
      '?after_license_id=2&after_user=ann': ['bob'],
      '?after_license_id=2&after_user=bob': [],
    };
    for (const [query, users] of Object.entries(expected)) {
      const { body } = await get(`/api/admin/registrations${query}`);
      assert.deepEqual(listUsers(body), users, query);
    }
  });

  test('can be filtered by the address of the connection', async (t) => {
    const { post, get, send } = await openTestApp(t);
    const peer = { address: '192.0.2.7', isControl: false };
    await post('/api/v4/register', { user: 'here', ip_local: '192.0.2.7' });
    await send('POST', '/api/v4/register', { peer, body: { user: 'there', ip_local: '127.0.0.1' } });
    for (const [address, users] of [
      ['127.0.0.1', ['here']],
      ['192.0.2.0/24', ['there']],
      ['10.0.0.0/8', []],
    ] as const) {
      const { body } = await get(`/api/admin/registrations?address=${address}`);
      assert.deepEqual(listUsers(body), users, address);
    }
    const { status, body } = await get('/api/admin/registrations?address=somewhere');
    assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'address']);
  });

  test('comes in pages, and each says how to get the next one', async (t) => {
    const slots = LIMITS.pageRows + 1;
    const { store, get } = await openTestApp(t, { licenses: [testLicense(1, { slots })] });
    const host = { hostname: null, address: null, info: null };
    const users = Array.from({ length: slots }, (_, index) => `user-${String(index).padStart(5, '0')}`);
    await Promise.all(
      users.map((user) => store.execute({ kind: 'register', product: null, licenseId: null, user, host })),
    );
    const { body } = await get('/api/admin/registrations');
    const first = listUsers(body);
    assert.equal(first.length, LIMITS.pageRows);
    assert.deepEqual(body.next, { after_license_id: 1, after_user: first.at(-1) });
    const rest = await get(`/api/admin/registrations?${new URLSearchParams(body.next as never)}`);
    assert.deepEqual([...first, ...listUsers(rest.body)], users);
    assert.equal(rest.body.next, null);
    const sorted = await get('/api/admin/registrations?sort=user&direction=down&offset=10&limit=5');
    assert.deepEqual(sorted.body.next, { offset: 15 });
    const last = await get(`/api/admin/registrations?sort=user&offset=${slots - 5}&limit=5`);
    assert.deepEqual([listUsers(last.body).length, last.body.next], [5, null]);
  });
});

describe('releasing and recalling', () => {
  test('release frees a plain slot, recall a borrowed one', async (t) => {
    const { post, store } = await openTestApp(t);
    await post('/api/v4/register', { user: 'ann' });
    await post('/api/v4/borrow', { user: 'bob' });
    const release = await post('/api/admin/registrations/release', { user: 'ann', product: 'cad' });
    assert.deepEqual(release.body, { released: 1 });
    const recall = await post('/api/admin/registrations/recall', { user: 'bob', license_id: '1' });
    assert.deepEqual(recall.body, { recalled: 1 });
    assert.deepEqual((await readTraces(store)).registrations, []);
  });

  test('is refused with the reason, and changes nothing', async (t) => {
    const { post, store } = await openTestApp(t, { licenses: TWO });
    await post('/api/v4/register', { product: 'cad', user: 'ann' });
    await post('/api/v4/borrow', { product: 'cad', user: 'bob' });
    const before = await readTraces(store);
    const expected: readonly [string, object, string][] = [
      ['release', {}, 'missing_parameters'],
      ['recall', { product: 'cad' }, 'missing_parameters'],
      ['release', { user: 'ann' }, 'missing_parameters'],
      ['release', { user: 'ann', product: 'nothing' }, 'unknown_product'],
      ['recall', { user: 'ann', license_id: 9 }, 'license_not_found'],
      ['release', { user: 'cat', product: 'cad' }, 'device_not_found'],
      ['recall', { user: 'ann', product: 'cam' }, 'device_not_found'],
      ['release', { user: 'bob', product: 'cad' }, 'slot_is_borrowed'],
      ['recall', { user: 'ann', product: 'cad' }, 'slot_not_borrowed'],
      ['recall', { user: 'ann\n', product: 'cad' }, 'validation_error'],
    ];
    for (const [verb, fields, code] of expected) {
      const { status, body } = await post(`/api/admin/registrations/${verb}`, fields);
      assert.equal(status, 400);
      assert.equal(body.code, code, `${verb} ${JSON.stringify(fields)}`);
    }
    assert.deepEqual(await readTraces(store), before);
  });

  test('release frees everything from one address, borrowed or not, on every license', async (t) => {
    const { post, get, send, store } = await openTestApp(t, { licenses: TWO });
    const peer = { address: '192.0.2.7', isControl: false };
    await post('/api/v4/register', { product: 'cad', user: 'ann' });
    for (const product of ['cad', 'cam']) {
      await send('POST', '/api/v4/borrow', { peer, body: { product, user: 'eve' } });
    }
    const release = '/api/admin/registrations/release';
    assert.equal((await post(release, { address: '192.0.2.7', user: 'eve' })).body.code, 'validation_error');
    assert.equal((await post(release, { address: '192.0.2.300' })).body.code, 'validation_error');
    assert.deepEqual((await post(release, { address: '192.0.2.7', product: 'cam' })).body, { released: 1 });
    assert.deepEqual((await post(release, { address: '192.0.2.0/30' })).body, { released: 0 });
    assert.deepEqual((await post(release, { address: '192.0.2.0/24' })).body, { released: 1 });
    assert.deepEqual(listUsers((await get('/api/admin/registrations')).body), ['ann']);
    const links = await store.read({ kind: 'list_audit', chain: null, limit: 2, before: null });
    for (const { events } of links) {
      assert.deepEqual(
        events.map(({ kind, origin }) => [kind, origin]),
        [['slot_recalled', '127.0.0.1']],
      );
    }
  });

  test('every borrow can be recalled, however many were before', async (t) => {
    const { post } = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })] });
    for (const user of ['ann', 'bob', 'cid']) {
      await post('/api/v4/borrow', { user });
      assert.deepEqual((await post('/api/admin/registrations/recall', { user })).body, { recalled: 1 });
    }
  });
});
