import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { readMetrics } from '../../../../../test/support/metric-text.ts';
import { describeStores } from '../../../../../test/support/stores/test-stores.ts';
import {
  FOREIGN,
  openTestApp,
  START,
  type TestApp,
  type TestAppOptions,
} from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import type { Cloud } from '../../../src/cloud/cloud.ts';
import { DENIAL_REASONS } from '../../../src/core/lending/denial-reasons.ts';
import { PLACE_WINDOW_MS } from '../../../src/core/lending/deny.ts';
import { DEMO_LICENSE } from '../../../src/core/nouns/demo-license.ts';
import { Fault } from '../../../src/core/nouns/fault.ts';
import type { Feature, FeatureLending } from '../../../src/core/nouns/feature.ts';
import { DAY_MS, HOUR_MS, instant, MINUTE_MS, SECOND_MS } from '../../../src/core/nouns/instant.ts';

async function scrape({ get, clock }: TestApp): Promise<ReadonlyMap<string, number>> {
  // What was read from the store a moment ago is used again.
  clock.advance(SECOND_MS);
  const answer = await get('/metrics');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return readMetrics(answer.text).values;
}

const OF_CAD = '{license="1",product="cad"}';
const OF_RENDER = '{license="1",product="cad",feature="render"}';
const OF_EXPORT = '{license="1",product="cad",feature="export"}';

function open(t: TestContext, options: TestAppOptions = {}) {
  const [counted, lent] = DEMO_LICENSE.features as readonly [Feature, Feature];
  const floating = { ...(lent.floating as FeatureLending), slots: 4 };
  const features = [counted, { ...lent, floating }];
  return openTestApp(t, { licenses: [testLicense(1, { slots: 3, features })], ...options });
}

describe('the format of /metrics', () => {
  test('is that of Prometheus, whatever callers accept', async (t) => {
    const { get } = await open(t);
    for (const accept of ['*/*', 'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5']) {
      const { headers, text } = await get('/metrics', { headers: { accept } });
      assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
      for (const line of [
        '# TYPE berth_denials_total counter',
        'berth_denials_total{reason="blacklisted"} 0',
      ])
        assert.ok(text.includes(`\n${line}\n`), line);
      assert.ok(text.startsWith('# TYPE berth_build_info gauge\n'));
    }
  });

  test('holds whatever licenses and features are called, each series once', async (t) => {
    const names = ['a"b\\c\nd', '__proto__', 'x\ud800', 'x\ufffd', 'render', 'render'];
    const [, floating] = DEMO_LICENSE.features as readonly [Feature, Feature];
    const features = names.map((code, id) => ({ ...floating, code, id }));
    const app = await openTestApp(t, { licenses: [testLicense(1, { product: 'c"a\\d\n', features })] });
    const values = await scrape(app);
    const listed = [...values.keys()].filter((series) => series.startsWith('berth_feature_slots{'));
    const label = (code: string) => `{license="1",product="c\\"a\\\\d\\n",feature="${code}"}`;
    assert.deepEqual(
      listed,
      ['a\\"b\\\\c\\nd', '__proto__', 'x\ufffd', 'render'].map((code) => `berth_feature_slots${label(code)}`),
    );
  });
});

describeStores('the metrics', (store) => {
  test('tell what is lent, counted and left', async (t) => {
    const app = await open(t);
    for (const user of ['ann', 'bob']) await app.post('/api/v4/register', { user });
    const until = new Date(START + HOUR_MS).toISOString();
    await app.post('/api/v4/borrow', { user: 'eve', borrowed_until: until });
    const ask = { user: 'eve', feature: 'render' };
    await app.post('/api/v4/featureRegister', { ...ask, borrowed_until: until });
    for (const user of ['ann', 'bob']) await app.post('/api/v4/featureRegister', { ...ask, user });
    await app.post('/api/v4/add_consumption', { consumptions: 7 });
    await app.post('/api/v4/add_feature_consumption', { feature: 'export', consumptions: 40 });
    await app.post('/api/v4/unregister', { user: 'ann' });
    const values = await scrape(app);
    const expected = {
      [`berth_license_slots${OF_CAD}`]: 3,
      [`berth_license_slots_in_use${OF_CAD}`]: 2,
      [`berth_license_slots_borrowed${OF_CAD}`]: 1,
      [`berth_license_slots_peak${OF_CAD}`]: 3,
      [`berth_license_usable${OF_CAD}`]: 1,
      [`berth_license_expiry_days${OF_CAD}`]: undefined,
      [`berth_license_consumption${OF_CAD}`]: 7,
      [`berth_license_consumption_remaining${OF_CAD}`]: 993,
      [`berth_feature_slots${OF_RENDER}`]: 4,
      [`berth_feature_slots_in_use${OF_RENDER}`]: 2,
      [`berth_feature_slots_borrowed${OF_RENDER}`]: 1,
      [`berth_feature_slots_peak${OF_RENDER}`]: 3,
      [`berth_feature_slots${OF_EXPORT}`]: undefined,
      [`berth_feature_consumption${OF_EXPORT}`]: 40,
      [`berth_feature_consumption_remaining${OF_EXPORT}`]: 60,
      'berth_requests_total{route="register",status="200"}': 2,
      'berth_request_duration_seconds_count{route="register"}': 2,
      berth_leader: 1,
      berth_store_healthy: 1,
      berth_clock_offset_seconds: 0,
      [`berth_build_info{version="1.2.3",node="${process.version}",store="sqlite"}`]: 1,
      'berth_database_connections_max{pool="reading"}': store === 'SQLite' ? undefined : 1,
    };
    for (const [series, value] of Object.entries(expected)) assert.equal(values.get(series), value, series);
    assert.ok((values.get('berth_batch_size_count') as number) >= 8);
    assert.ok((values.get('berth_sync_duration_seconds_count') as number) >= 8);
  });

  test('agree with the audit log after a storm of denials', async (t) => {
    const app = await open(t);
    const wishes = ['register', 'borrow', 'add_consumption', 'featureRegister', 'add_feature_consumption'];
    const sent = Array.from({ length: 400 }, (_, index) => {
      const path = wishes[index % wishes.length] as string;
      const user = `user-${index % 37}`;
      const feature = ['render', 'export', 'none'][index % 3];
      const facts = index % 7 === 0 ? { product: 'other' } : {};
      const consumptions = index % 11 === 0 ? -1 : 200;
      return app.post(`/api/v4/${path}`, { user, feature, consumptions, ...facts });
    });
    const codes = (await Promise.all(sent)).map(({ body }) => body.code as string | undefined);
    // A minute later, what was only counted is recorded as well.
    app.clock.advance(PLACE_WINDOW_MS);
    await app.store.execute({ kind: 'collect', licenseId: testLicense(1).id });
    const recorded = await countRecorded(app);
    const values = await scrape(app);
    for (const reason of DENIAL_REASONS) {
      const counted = values.get(`berth_denials_total{reason="${reason}"}`);
      assert.equal(counted, recorded.get(reason) ?? 0, reason);
      assert.equal(counted, codes.filter((code) => code === reason).length, reason);
    }
    assert.deepEqual(
      [...recorded.keys()].filter((code) => !DENIAL_REASONS.includes(code as never)),
      [],
    );
    assert.ok(recorded.size > 4, `${[...recorded.keys()]}`);
    const [license] = await app.catalogue.list(null);
    assert.equal(values.get(`berth_license_slots_in_use${OF_CAD}`), license?.inUse);
    assert.equal(values.get(`berth_license_consumption${OF_CAD}`), license?.totals.total);
  });
});

/** How often the audit log says that something was denied, by reason. */
async function countRecorded({ store }: TestApp): Promise<ReadonlyMap<string, number>> {
  const links = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1000 });
  const counts = new Map<string, number>();
  for (const event of links.flatMap(({ events }) => events)) {
    const isOne = event.kind === 'slot_denied' || event.kind === 'consumption_denied';
    if (!isOne && event.kind !== 'denials_repeated') continue;
    counts.set(event.code, (counts.get(event.code) ?? 0) + event.repeated + (isOne ? 1 : 0));
  }
  return counts;
}

describe('the metrics', () => {
  test('count every reason with which a request can be denied', async (t) => {
    const { routes } = await open(t);
    const names = ['register', 'borrow', 'feature_register', 'add_consumption', 'add_feature_consumption'];
    const asking = routes.filter(({ name }) => names.includes(name));
    assert.equal(asking.length, names.length);
    const declared = new Set(asking.flatMap(({ errors }) => errors));
    // Nothing of these is denied by a license.
    const others = ['missing_parameters', 'unknown_product', 'license_not_found', 'validation_error'];
    for (const code of [...others, 'idempotency_key_reused', 'wrong_store']) declared.delete(code as never);
    assert.deepEqual([...declared].sort(), [...DENIAL_REASONS].sort());
  });

  test('keep a peak until everybody has had the time to see it', async (t) => {
    const app = await open(t);
    const peak = async () => (await scrape(app)).get(`berth_license_slots_peak${OF_CAD}`);
    for (const user of ['ann', 'bob']) await app.post('/api/v4/register', { user });
    for (const user of ['ann', 'bob']) await app.post('/api/v4/unregister', { user });
    app.clock.advance(HOUR_MS);
    assert.equal(await peak(), 2, 'since the last scrape');
    assert.equal(await peak(), 2, 'another program');
    app.clock.advance(2 * MINUTE_MS);
    assert.equal(await peak(), 2, 'within two minutes');
    await app.post('/api/v4/register', { user: 'ann' });
    app.clock.advance(2 * MINUTE_MS);
    assert.equal(await peak(), 1);
  });

  test('tell the days until licenses end, and of the licensing cloud', async (t) => {
    const validUntil = instant(START + 10 * DAY_MS + HOUR_MS + SECOND_MS);
    const licenses = [testLicense(1, { source: 'cloud', validUntil })];
    const app = await openTestApp(t, { licenses, cloud: {} as Cloud });
    app.clock.advance(HOUR_MS);
    await app.post('/api/v4/add_consumption', { consumptions: 3 });
    const values = await scrape(app);
    assert.equal(values.get(`berth_license_expiry_days${OF_CAD}`), 10);
    assert.equal(values.get('berth_cloud_age_seconds'), 3601);
    assert.equal(values.get('berth_cloud_backlog'), 3);
    assert.equal(values.get('berth_cloud_reports{state="under_way"}'), 0);
    assert.equal(values.get('berth_cloud_failing'), 0);
    assert.equal((await scrape(await open(t))).get('berth_cloud_failing'), undefined);
  });

  test('ask the store once a second, and go on without it', async (t) => {
    const app = await open(t);
    const { read } = app.store;
    let asked = 0;
    app.store.read = (query) => {
      asked += query.kind === 'list_licenses' ? 1 : 0;
      return read(query);
    };
    await Promise.all([scrape(app), app.get('/metrics'), app.get('/metrics')]);
    assert.equal(asked, 1);
    app.store.read = () => Promise.reject(new Fault('store_unavailable', 'away'));
    const values = await scrape(app);
    assert.equal(values.get('berth_store_healthy'), 0);
    assert.equal(values.get(`berth_license_slots${OF_CAD}`), undefined);
    assert.equal(values.get('berth_requests_total{route="metrics",status="200"}'), 3);
  });

  test('count what no route answers, and nothing that clients make up', async (t) => {
    const app = await open(t, { auth: { metrics: 'open' } });
    await app.get('/api/v4/nothing');
    await app.send('HEAD', '/api/v4/unregister/all');
    await app.post('/api/v4/register', { user: 'a-person', product: 'made-up' });
    const { text } = await app.get('/metrics', { peer: FOREIGN });
    assert.match(text, /^berth_requests_total\{route="unknown",status="404"\} 1$/m);
    assert.match(text, /^berth_requests_total\{route="unregister_all",status="405"\} 1$/m);
    assert.match(text, /^berth_requests_total\{route="register",status="400"\} 1$/m);
    assert.doesNotMatch(text, /a-person|made-up|DEMO-DEMO|nothing/);
  });

  test('are for Prometheus on the same machine, after setup too', async (t) => {
    const app = await open(t, { auth: { localAdmin: 'never' } });
    const headers = { 'user-agent': 'Prometheus/3.5.0', 'x-prometheus-scrape-timeout-seconds': '10' };
    const encoding = { 'accept-encoding': 'gzip' };
    assert.equal((await app.get('/metrics', { headers: { ...headers, ...encoding } })).status, 200);
    const { status, body } = await app.get('/metrics', { peer: FOREIGN, headers });
    assert.equal(status, 401);
    assert.match(String(body.message), /berth token create.*because it does not come from 127\.0\.0\.1/);
  });
});
