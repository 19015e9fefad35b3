import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp, START } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, plus, say } from '../../../../src/core/nouns/instant.ts';
import { createHistory } from '../../../../src/services/history/history.ts';
import { runTaskHere } from '../../../../src/services/tasks/task.ts';

type Facts = Readonly<Record<string, unknown>>;

/** Names that must not do anything anywhere. */
const HOSTILE = ['=cmd|"/c calc"!A1', '@sum(1)', '-2+3', '+1', '<img src=x onerror=alert(1)>', 'שלום', '🚢'];

async function openUsed(t: Parameters<typeof openTestApp>[0]) {
  const app = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })] });
  await app.post('/api/v4/register', { user: 'ann' });
  for (const user of HOSTILE) await app.post('/api/v4/register', { user, os_hostname: user });
  app.clock.advance(2 * MINUTE_MS);
  await app.post('/api/v4/unregister', { user: 'ann' });
  return app;
}

describe('reports on the history', () => {
  test('slots over time, with the state at the start', async (t) => {
    const { get } = await openUsed(t);
    const { body } = await get('/api/admin/history/slots?license=1&since=1h');
    assert.equal(body.grain, 'minute');
    assert.equal(body.step_ms, MINUTE_MS);
    const [series] = body.series as Facts[];
    assert.equal(series?.feature, null);
    const points = series?.points as Facts[];
    assert.deepEqual(
      points.map(({ at, in_use, grants, denials }) => [at, in_use, grants, denials]),
      [
        [say(START), 1, 1, HOSTILE.length],
        [say(plus(START, 2 * MINUTE_MS)), 0, 0, 0],
      ],
    );
    const year = (await get('/api/admin/history/slots?since=365d')).body;
    assert.deepEqual([year.grain, year.step_ms], ['day', DAY_MS]);
  });

  test('who was denied, and why', async (t) => {
    const { get, post, clock } = await openUsed(t);
    clock.advance(DAY_MS);
    await post('/api/v4/register', { user: 'bob' });
    const query = new URLSearchParams({ user: HOSTILE[4] as string, since: 'yesterday', until: 'today' });
    const { body } = await get(`/api/admin/history/denials?${query}`);
    assert.equal(body.total, 1);
    assert.equal(body.left_off, 0);
    const [denial] = body.denials as Facts[];
    assert.equal(denial?.user, HOSTILE[4]);
    assert.equal(denial?.host, HOSTILE[4]);
    const next = say(plus(START, 10 * MINUTE_MS));
    const why = `The only slot of "cad" was in use. The next one was due to be free at ${next}.`;
    assert.equal(denial?.explanation, why);
    assert.equal((await get('/api/admin/history/denials?reason=blacklisted')).body.total, 0);
    assert.equal((await get('/api/admin/history/denials?limit=2')).body.left_off, HOSTILE.length - 2);
  });

  test('as CSV, in which no name is a formula', async (t) => {
    const { send } = await openUsed(t);
    const headers = { accept: 'text/csv' };
    for (const report of ['slots', 'denials', 'users', 'consumption', 'waits', 'what-if']) {
      const {
        status,
        text,
        headers: answered,
      } = await send('GET', `/api/admin/history/${report}?license=1`, {
        headers,
      });
      assert.equal(status, 200);
      assert.equal(answered.get('content-type'), 'text/csv; charset=utf-8');
      assert.equal(answered.get('content-disposition'), `attachment; filename="berth-${report}.csv"`);
      assert.ok(text.endsWith('\r\n'));
      assert.doesNotMatch(text, /(^|,)"?[=+@]|(^|,)"?-\D/m, report);
    }
    const { text } = await send('GET', '/api/admin/history/users?license=1', { headers });
    assert.ok(text.includes('"\'=cmd|""/c calc""!A1",false,1,cad,'), text);
    assert.ok(text.includes("\n'-2+3,false,1,"), text);
  });

  test('denials, by a part of a name, and by a reason that exists', async (t) => {
    const { get, post } = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })] });
    for (const user of ['ada', 'Fay Lindqvist', 'bob']) await post('/api/v4/register', { user });
    const count = async (query: string) => (await get(`/api/admin/history/denials?${query}`)).body.total;
    assert.deepEqual(
      [await count('search=FAY'), await count('search=o'), await count('user=fay')],
      [1, 1, 0],
    );
    const { status, body } = await get('/api/admin/history/denials?reason=blacklistet');
    assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'reason']);
    assert.match(String(body.message), /Did you mean "blacklisted"\? Reasons are .*floating_not_available/);
  });

  test('users, by a part of their names and by days', async (t) => {
    const { get, clock, post, send } = await openTestApp(t, { licenses: [testLicense(1, { slots: 1 })] });
    await post('/api/v4/register', { user: 'Özge' });
    await post('/api/v4/register', { user: 'fay' });
    clock.advance(10 * MINUTE_MS);
    await post('/api/v4/unregister', { user: 'Özge' });
    clock.advance(24 * 60 * MINUTE_MS);
    await post('/api/v4/register', { user: 'Özge' });
    const list = async (query: string) =>
      ((await get(`/api/admin/history/users?${query}`)).body.users as Facts[]).map(
        ({ user, day, grants, denials, held_ms }) => [user, day, grants, denials, held_ms],
      );
    assert.deepEqual(await list('search=FA'), [['fay', null, 0, 1, 0]]);
    assert.deepEqual(await list('search=%25'), []);
    for (const [part, total] of [
      ['FA', 1],
      ['%25', 0],
    ] as const) {
      assert.equal((await get(`/api/admin/history/denials?search=${part}`)).body.total, total, part);
    }
    assert.deepEqual(await list(`search=${encodeURIComponent('öz')}&by=day`), [
      ['Özge', '2030-01-16', 1, 0, 0],
      ['Özge', '2030-01-15', 1, 0, 10 * MINUTE_MS],
    ]);
    const headers = { accept: 'text/csv' };
    const { text } = await send('GET', '/api/admin/history/users?search=fay&by=day', { headers });
    assert.match(text, /^day,user,.*\r\n2030-01-15,fay,/);
  });

  test('what would have been with more slots', async (t) => {
    const { get } = await openUsed(t);
    const { body } = await get('/api/admin/history/what-if?license=1&since=1d');
    const { curve, ...facts } = body as Facts & { curve: Facts[] };
    const subject = { license_id: 1, product: 'cad', name: 'Berth demo product', feature: null };
    const { waits, ...asked } = facts;
    assert.deepEqual(asked, { ...subject, slots: 1, median_ms: 2 * MINUTE_MS, asked: 7, enough: 8 });
    assert.equal((waits as Facts).served, 0);
    assert.deepEqual(curve[0], { slots: 1, denials: 7, waiting_ms: 7 * MINUTE_MS });
    assert.deepEqual(curve.at(-1), { slots: 8, denials: 0, waiting_ms: 0 });
    assert.deepEqual((await get('/api/admin/history/what-if?since=1d')).body, body, 'the only license');
    assert.equal((await get('/api/admin/history/what-if?license=9')).body.code, 'license_not_found');
    assert.equal(
      (await get('/api/admin/history/what-if?license=1&feature=x')).body.code,
      'license_not_found',
    );
  });

  test('how long users waited in the line', async (t) => {
    const { get, post, store, clock, send } = await openTestApp(t, {
      licenses: [testLicense(1, { slots: 1 })],
    });
    assert.deepEqual((await get('/api/admin/history/waits')).body, { waits: [] });
    await post('/api/v4/register', { user: 'ann' });
    const host = { hostname: null, address: null, info: null };
    const wait = { mode: 'stay', forMs: 30_000 } as const;
    await store.execute({ kind: 'register', product: 'cad', licenseId: null, user: 'bob', host, wait });
    clock.advance(12_000);
    await post('/api/v4/unregister', { user: 'ann' });
    const { body } = await get('/api/admin/history/waits?license=1&since=1d');
    const subject = { license_id: 1, product: 'cad', name: 'Berth demo product', feature: null };
    const served = { served: 1, median_ms: 12_000, p90_ms: 12_000, longest_ms: 12_000 };
    const unserved = { unserved: 0, unserved_median_ms: null, unserved_longest_ms: null };
    assert.deepEqual(body, { waits: [{ ...subject, ...served, ...unserved }] });
    assert.deepEqual((await get('/api/admin/history/waits?feature=x')).body, { waits: [] });
    const { text } = await send('GET', '/api/admin/history/waits', { headers: { accept: 'text/csv' } });
    assert.equal(text.split('\r\n')[1], '1,cad,Berth demo product,,1,12000,12000,12000,0,,');
    const whatIf = (await get('/api/admin/history/what-if?license=1')).body;
    assert.deepEqual(whatIf.waits, { ...subject, ...served, ...unserved });
  });

  test('what would have been is asked of one license', async (t) => {
    const { get } = await openTestApp(t, { licenses: [testLicense(1), testLicense(2)] });
    const { body } = await get('/api/admin/history/what-if');
    assert.equal(body.code, 'missing_parameters');
    assert.match(String(body.message), /^This server has 2 licenses\. Say which one/);
  });

  test('a user is forgotten', async (t) => {
    const { get, post } = await openUsed(t);
    assert.equal((await post('/api/admin/history/forget', {})).body.code, 'missing_parameters');
    const { body } = await post('/api/admin/history/forget', { user: '+1' });
    assert.deepEqual(body, { forgotten: 2 });
    const { total, by_user } = (await get('/api/admin/history/denials')).body;
    assert.equal(total, HOSTILE.length);
    assert.ok((by_user as Facts[]).some(({ user, others }) => user === null && others === true));
    assert.ok(!JSON.stringify((await get('/api/admin/audit?chain=system')).body).includes('+1'));
  });

  test('times that make no sense are refused', async (t) => {
    const { get } = await openTestApp(t);
    for (const query of [
      'since=soon',
      'since=2030-02-30',
      'until=1x',
      'since=today&until=yesterday',
      'since=2031-01-01',
    ]) {
      const { body } = await get(`/api/admin/history/slots?${query}`);
      assert.equal(body.code, 'validation_error', query);
    }
    const { body } = await get('/api/admin/history/slots?since=30d&grain=minute');
    assert.equal(body.code, 'validation_error');
  });
});

test('the history is thinned out in as many steps as needed', async (t) => {
  const { store, clock, get } = await openUsed(t);
  const history = createHistory(store, { keepDays: 365 }, runTaskHere);
  assert.equal(await history.thin(), 0);
  clock.advance(8 * DAY_MS + HOUR_MS);
  assert.equal(await history.thin(), 1);
  clock.advance(100 * DAY_MS);
  assert.equal(await history.thin(), 2);
  assert.equal((await get('/api/admin/history/denials?since=200d')).body.total, HOSTILE.length);
  clock.advance(400 * DAY_MS);
  assert.ok((await history.thin()) > 0);
  assert.equal((await get('/api/admin/history/denials?since=600d')).body.total, 0);
});
