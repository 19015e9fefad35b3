import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { exampleLicense } from '../../packages/server/test/core/examples.ts';
import { BerthApi } from '../support/berth-api.ts';
import { startServerHere } from '../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../support/server-process.ts';

const DAY_MS = 86_400_000;

async function start(t: TestContext, data: string, args: readonly string[] = ['--test-clock']) {
  const server = await startServerHere({ data, args });
  t.after(server.stop);
  const api = new BerthApi(server.url);
  const advance = async (by: string) => (await api.post('/api/admin/test-clock/advance', { by })).body;
  return { ...server, api, advance };
}

describe('a server with a test clock', () => {
  test('ends a borrow of thirty days at once, and everything else follows', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const { api, advance, stop } = await start(t, data);
    const wish = { product: 'test-cad', slots: 1, max_borrow_hours: 720 };
    const { body: made } = await api.post('/api/admin/test-clock/license', wish);
    const { body: borrowed } = await api.post('/api/v4/borrow', { product: 'test-cad', user: 'ada' });
    assert.equal(borrowed.license_id, made.license_id);
    await advance('29d');
    const refused = await api.post('/api/v4/register', { product: 'test-cad', user: 'bob' });
    assert.equal(refused.body.code, 'floating_not_available');
    const clock = await advance('1d');
    assert.ok(Date.parse(clock.server_at as string) >= Date.parse(borrowed.borrowed_until as string));
    assert.equal(clock.jump, null);
    // Nobody has asked since: the sweeper was there.
    const { body: audit } = await api.get('/api/admin/audit?kind=slot_expired');
    assert.equal((audit.events as readonly object[]).length, 1);
    const { body: status } = await api.get('/api/admin/status');
    assert.equal((status.store as { has_test_clock: boolean }).has_test_clock, true);

    await stop();
    await assert.rejects(start(t, data, []), /is for tests: its time was moved. Start it with --test-clock/);
    const again = await start(t, data);
    const { body: later } = await again.api.get('/api/admin/clock');
    assert.ok(Date.parse(later.server_at as string) >= Date.now() + 30 * DAY_MS - 60_000, 'it goes on');
    const changed = await again.api.post('/api/admin/test-clock/license', { product: 'test-cad', slots: 7 });
    assert.deepEqual(changed.body, made, 'the same license');
  });

  test('is asked for lengths of time, and for products that nobody has', async (t) => {
    const { api, advance } = await start(t, join(temporaryFolder(t), 'data'));
    for (const by of ['0d', '1', '-1d', '4000d', '']) assert.equal((await advance(by)).status, 400, by);
    const { body } = await api.post('/api/admin/test-clock/license', { product: 'cad' });
    assert.match(body.message as string, /must start with "test-"/);
  });

  test('does not start beside a real license, a database or a cloud', async (t) => {
    const data = join(temporaryFolder(t), 'data');
    await seedLicenses(data, [exampleLicense({ source: 'offline' })]);
    await assert.rejects(start(t, data), /There is a real license of "cad" here.*another data folder/);
    const cloud = ['--test-clock', '--cloud-url', 'https://cloud.example'];
    await assert.rejects(start(t, data, cloud), /works without a licensing cloud/);
    const database = ['--test-clock', '--database-url', 'postgres://db.example/berth'];
    await assert.rejects(start(t, data, database), /needs a data folder of its own/);
  });

  test('is the only one whose time can be moved', async (t) => {
    const { api, advance } = await start(t, join(temporaryFolder(t), 'data'), ['--demo']);
    assert.equal((await advance('1d')).code, 'test_clock_off');
    const { body } = await api.post('/api/admin/test-clock/license', { product: 'test-cad' });
    assert.equal(body.code, 'test_clock_off');
  });
});
