import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { startServerHere } from '../../support/server-here.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';

const MINUTE_MS = 60_000;
const DENIALS = 100_000;
const MINUTES = 10_000;

/** What somebody leaves who asks under other names all day, and a license that is used all the time. */
const FILL = `
  INSERT INTO history_denial (license_id, feature, grain, at, user, others, host, address, reason, rule,
    denials, first_at, last_at)
  WITH RECURSIVE one (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM one WHERE n < ${DENIALS - 1})
  SELECT 1, '', ${MINUTE_MS}, :end - (n % ${MINUTES}) * ${MINUTE_MS}, 'user-' || n, 0, '', '',
    'floating_not_available', '', 1, :end - (n % ${MINUTES}) * ${MINUTE_MS},
    :end - (n % ${MINUTES}) * ${MINUTE_MS} FROM one`;
const FILL_SLOTS = `
  INSERT INTO history_slot (license_id, feature, grain, at, grants, returns, denials, peak, net, late,
    borrowed)
  WITH RECURSIVE one (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM one WHERE n < ${MINUTES - 1})
  SELECT 1, '', ${MINUTE_MS}, :end - n * ${MINUTE_MS}, 1, 1, 0, 40, 0, 0, 0 FROM one`;
const FILL_DURATIONS = `
  INSERT INTO history_duration (license_id, feature, at, minutes, sessions)
  VALUES (1, '', :day, 20, 100)`;

async function startBusy(t: TestContext) {
  const data = join(temporaryFolder(t), 'data');
  await seedLicenses(data, [testLicense(1, { slots: 50 })]);
  const end = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 10 * MINUTE_MS;
  const db = new DatabaseSync(join(data, 'berth.db'));
  for (const sql of [FILL, FILL_SLOTS]) db.prepare(sql).run({ end });
  db.prepare(FILL_DURATIONS).run({ day: end - (end % (24 * 60 * MINUTE_MS)) });
  db.close();
  const { url, stop } = await startServerHere({ data });
  t.after(stop);
  const get = async (path: string, signal?: AbortSignal) => {
    const answer = await fetch(`${url}${path}`, signal === undefined ? {} : { signal });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const beat = async () => {
    const body = JSON.stringify({ product: 'cad', user: 'ann' });
    const headers = { 'content-type': 'application/json' };
    assert.equal((await fetch(`${url}/api/v4/register`, { method: 'POST', headers, body })).status, 200);
  };
  return { get, beat };
}

test('a long what-if keeps neither heartbeats nor other reports waiting', async (t) => {
  const { get, beat } = await startBusy(t);
  await beat();
  let answered = 0;
  let isDone = false;
  const asked = get('/api/admin/history/what-if?license=1').finally(() => {
    isDone = true;
  });
  for (; !isDone; answered++) {
    await beat();
    assert.equal((await get('/api/admin/history/waits')).status, 200);
  }
  const { status, body } = await asked;
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.asked, body.enough], [DENIALS, 40 + 20 * (DENIALS / MINUTES)]);
  const [fewest] = body.curve as readonly { readonly denials: number }[];
  assert.equal(fewest?.denials, DENIALS + MINUTES, 'every page counts once');
  assert.ok(answered >= 20, `${answered} answers`);
});

test('a what-if whose caller is gone frees its place', async (t) => {
  const { get } = await startBusy(t);
  const control = new AbortController();
  const asked = get('/api/admin/history/what-if?license=1', control.signal);
  const ask = () => get('/api/admin/history/what-if?license=9');
  let other = await ask();
  for (let attempt = 0; other.status !== 429 && attempt < 100; attempt++) other = await ask();
  assert.equal(other.body.code, 'too_many_requests');
  control.abort();
  await assert.rejects(asked, { name: 'AbortError' });
  for (let attempt = 0; other.status === 429 && attempt < 1000; attempt++) other = await ask();
  assert.equal(other.body.code, 'license_not_found');
});
