import assert from 'node:assert/strict';
import type { SlotPoint } from '../../../src/core/history/slot-points.ts';
import { historyCutoffs } from '../../../src/core/history/thinning.ts';
import {
  bucketStart,
  DAY_MS,
  HOUR_MS,
  type Instant,
  instant,
  MINUTE_MS,
  plus,
  say,
} from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import type { DenialHistory, SlotSeries } from '../../../src/store/history-query.ts';
import { exampleFeature, exampleLimits, from, NOW, register } from '../../core/examples.ts';
import { codeOf, type ExamStore, users } from './exam-store.ts';

const YEAR_MS = 365 * DAY_MS;

async function readSeries(exam: ExamStore, { id }: License, feature = '', stepMs = MINUTE_MS) {
  const until = plus(await exam.now(), 1);
  const asked = { since: bucketStart(NOW, stepMs), until, licenseId: id, feature, stepMs };
  const [series, ...others] = await exam.store.read({ kind: 'list_slot_history', ...asked });
  assert.deepEqual(others, []);
  return series as SlotSeries;
}

async function readDenials(exam: ExamStore, user: string | null = null): Promise<DenialHistory> {
  const span = { since: instant(NOW - YEAR_MS), until: plus(await exam.now(), 1), licenseId: null };
  const asked = { ...span, feature: null, user, reason: null, limit: 100 };
  return exam.store.read({ kind: 'list_denial_history', ...asked });
}

async function readUsers(exam: ExamStore, limit = 1000) {
  const span = { since: instant(0), until: plus(await exam.now(), 1), licenseId: null };
  const { users: listed } = await exam.store.read({ kind: 'list_user_history', ...span, user: null, limit });
  return listed;
}

/** Thins out everything, as the leader does. */
async function thin(exam: ExamStore, keepDays = 730): Promise<number> {
  const now = await exam.now();
  const work = await exam.store.read({ kind: 'list_old_history', ...historyCutoffs(now, keepDays) });
  for (const { licenseId, step } of work) await exam.execute({ kind: 'thin_history', licenseId, step });
  const rest = await exam.store.read({ kind: 'list_old_history', ...historyCutoffs(now, keepDays) });
  assert.deepEqual(rest, [], 'nothing is left to thin out');
  return work.length;
}

/** Two users, one of whom is denied again and again, over a quarter of an hour. */
async function haveHistory(exam: ExamStore): Promise<License> {
  const license = await exam.install({ slots: 1 });
  await exam.register('ada', from('192.0.2.7'));
  exam.clock.advance(90_000);
  for (let i = 0; i < 3; i++) await exam.register('bob', from('192.0.2.8'));
  exam.clock.advance(90_000);
  await exam.unregister('ada');
  await exam.register('bob', from('192.0.2.8'));
  exam.clock.advance(HOUR_MS);
  await exam.execute({ kind: 'collect', licenseId: license.id });
  return license;
}

const POINT = { borrowed: 0, grants: 0, returns: 0, denials: 0 };

/** What the history says of grants, denials, returns and expiries. */
export const HISTORY = {
  'everything is asked of some licenses only, also of removed ones': async (exam: ExamStore) => {
    const facts = { slots: 1, consumption: exampleLimits() };
    const cad = await exam.install({ id: licenseId(1), product: 'cad', ...facts });
    const cam = await exam.install({ id: licenseId(11), product: 'cam', ...facts });
    for (const { product } of [cad, cam]) {
      await exam.register(`ada-${product}`, { product });
      await exam.register(`bob-${product}`, { product });
      await exam.register(`cy-${product}`, { product, wait: { mode: 'stay', forMs: MINUTE_MS } });
      await exam.consume(1, { product });
      await exam.unregister(`ada-${product}`, { product });
    }
    await exam.execute({ kind: 'remove_license', licenseId: cad.id, by: 'admin' });
    const products = await exam.store.read({ kind: 'list_products' });
    assert.deepEqual(products.map(({ licenseId: id, product }) => `${id} ${product}`).sort(), [
      '1 cad',
      '11 cam',
    ]);
    // The day of the first row, which is in the span.
    const since = bucketStart(NOW, DAY_MS);
    const span = { since, until: plus(await exam.now(), 1), licenseId: null, feature: null };
    for (const { id, product } of [cad, cam]) {
      const asked = { ...span, among: [id], user: null, reason: null, limit: 9, stepMs: DAY_MS };
      const answers = [
        await exam.store.read({ kind: 'list_slot_history', ...asked }),
        (await exam.store.read({ kind: 'list_denial_history', ...asked })).byLicense,
        (await exam.store.read({ kind: 'list_denial_history', ...asked, user: `bob-${product}` })).denials,
        (await exam.store.read({ kind: 'list_user_history', ...asked })).users,
        await exam.store.read({ kind: 'list_consumption_history', ...asked }),
        await exam.store.read({ kind: 'list_wait_history', ...asked }),
      ];
      for (const answer of answers) {
        const found = new Set(answer.map((row) => row.product));
        assert.deepEqual([...found], [product]);
      }
      const { total, byUser } = await exam.store.read({ kind: 'list_denial_history', ...asked });
      assert.deepEqual([total, byUser.length], [1, 1]);
    }
  },

  'a curve has every change in its minute, with the exact average': async (exam: ExamStore) => {
    const license = await haveHistory(exam);
    const { points, totals, slots } = await readSeries(exam, license);
    assert.equal(slots, 1);
    assert.deepEqual(points, [
      { ...POINT, at: NOW, inUse: 1, average: 1, peak: 1, grants: 1 },
      { ...POINT, at: plus(NOW, MINUTE_MS), inUse: 1, average: 1, peak: 1, denials: 3 },
      { ...POINT, at: plus(NOW, 3 * MINUTE_MS), inUse: 1, average: 1, peak: 1, grants: 1, returns: 1 },
      { ...POINT, at: plus(NOW, 13 * MINUTE_MS), inUse: 0, average: 0, peak: 1, returns: 1 },
    ]);
    const { average, ...counts } = totals;
    assert.deepEqual(counts, { peak: 1, grants: 2, returns: 2, denials: 3 });
    const hour = await readSeries(exam, license, '', HOUR_MS);
    assert.equal(hour.points[0]?.average, 13 / 60);
    assert.ok(Math.abs(average - 13 / 63) < 1e-4, String(average));
  },

  'time before a license was added is no time without use': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.borrow('ada', plus(NOW, HOUR_MS));
    exam.clock.advance(HOUR_MS / 2);
    const until = plus(await exam.now(), 1);
    const asked = { until, licenseId: license.id, feature: '', stepMs: HOUR_MS };
    const read = async (since: Instant) => {
      const [one] = await exam.store.read({ kind: 'list_slot_history', since, ...asked });
      return [one?.beginsAt, one?.totals.average, one?.points.map(({ at, average }) => [at, average])];
    };
    assert.deepEqual(await read(plus(NOW, -30 * DAY_MS)), [NOW, 1, [[NOW, 1]]]);
    const later = plus(NOW, 10 * MINUTE_MS);
    assert.deepEqual(await read(later), [later, 1, [[later, 1]]]);
    await exam.unregister('ada');
    await exam.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
    exam.clock.advance(DAY_MS);
    await exam.install({ slots: 1 });
    const before = plus(NOW, -DAY_MS);
    assert.equal((await read(before))[0], before, 'a license that is added again was there before');
  },

  'a slot ends in the history when it ends, not when it is collected': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.borrow('ada', plus(NOW, HOUR_MS));
    await exam.register('bob');
    exam.clock.advance(2 * HOUR_MS);
    const ended = [
      [NOW, 2, 1, 0],
      [plus(NOW, 10 * MINUTE_MS), 1, 1, 1],
      [plus(NOW, HOUR_MS), 0, 0, 1],
    ];
    const listed = async () =>
      (await readSeries(exam, license)).points.map((one) => [one.at, one.inUse, one.borrowed, one.returns]);
    assert.deepEqual(await listed(), ended);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    assert.deepEqual(await listed(), ended);
  },

  'a borrow counts until its date, its return or its recall': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    await exam.borrow('ada', plus(NOW, 5 * MINUTE_MS));
    await exam.borrow('bob', plus(NOW, HOUR_MS));
    await exam.borrow('eve', plus(NOW, HOUR_MS));
    exam.clock.advance(6 * MINUTE_MS);
    await exam.register('ada');
    exam.clock.advance(MINUTE_MS);
    await exam.recall('bob');
    await exam.borrow('ada', plus(NOW, HOUR_MS));
    exam.clock.advance(MINUTE_MS);
    await exam.unregister('eve');
    const { points } = await readSeries(exam, license);
    assert.deepEqual(
      points.map((point) => [(point.at - NOW) / MINUTE_MS, point.inUse, point.borrowed]),
      [
        [0, 3, 3],
        [5, 3, 2],
        [7, 2, 2],
        [8, 1, 1],
      ],
    );
  },

  'features have a history of their own, and all are returned at once': async (exam: ExamStore) => {
    const render = exampleFeature('render');
    const license = await exam.install({ features: [render, { ...render, code: 'mesh' }] });
    for (const user of ['ada', 'bob']) {
      await exam.register(user);
      await exam.registerFeature(user);
    }
    assert.equal(codeOf(await exam.registerFeature('eve')), 'device_not_found');
    exam.clock.advance(MINUTE_MS);
    await exam.releaseAll(license);
    const { totals } = await readSeries(exam, license, 'render');
    assert.deepEqual({ ...totals, average: 0 }, { average: 0, peak: 2, grants: 2, returns: 2, denials: 1 });
    const whole = await readSeries(exam, license);
    assert.deepEqual(
      { ...whole.totals, average: 0 },
      { average: 0, peak: 2, grants: 2, returns: 2, denials: 0 },
    );
    const held = (await readUsers(exam)).map(({ user, feature, heldMs }) => [user, feature, heldMs]);
    assert.deepEqual(held, [
      ['ada', null, MINUTE_MS],
      ['ada', 'render', MINUTE_MS],
      ['bob', null, MINUTE_MS],
      ['bob', 'render', MINUTE_MS],
      ['eve', 'render', 0],
    ]);
  },

  'a denial is counted and explained, also if the audit log only counts it': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.borrow('ada', plus(NOW, HOUR_MS));
    await exam.register('eve');
    for (let i = 0; i < 5; i++) await exam.register('fay', from('192.0.2.9'));
    const { total, byReason, byUser, byLicense, denials } = await readDenials(exam, 'fay');
    assert.equal((await exam.listEventsOf('slot_denied', license.id)).length, 1);
    assert.equal(total, 5);
    assert.deepEqual(byReason, [{ reason: 'floating_not_available', count: 5 }]);
    assert.deepEqual(byUser, [{ user: 'fay', others: false, count: 5 }]);
    assert.deepEqual(
      byLicense.map(({ licenseId, count }) => [licenseId, count]),
      [[license.id, 5]],
    );
    const [record] = denials;
    assert.deepEqual(
      [record?.host, record?.address, record?.count, record?.firstAt],
      ['host-1', '192.0.2.9', 5, NOW],
    );
    assert.equal(
      record?.explanation,
      'All 2 slots of "cad" were in use: 1 by users, 1 borrowed. ' +
        `The next one was due to be free at ${say(plus(NOW, 10 * MINUTE_MS))}.`,
    );
    assert.equal((await readDenials(exam, 'nobody')).total, 0);
  },

  'denials of one commit stay apart, however names and hosts are spelled': async (exam: ExamStore) => {
    await exam.install({ slots: 0 });
    const ask = (user: string, hostname: string) =>
      exam.register(user, { ...from('192.0.2.9'), host: { hostname, address: null, info: null } });
    await Promise.all([ask('ab', 'c'), ask('a', 'bc'), ask('a', 'bc')]);
    const { denials } = await readDenials(exam);
    const found = denials.map(({ user, host, count }) => `${user} at ${host}: ${count}`);
    assert.deepEqual(found.sort(), ['a at bc: 2', 'ab at c: 1']);
  },

  'consumption is added up by days': async (exam: ExamStore) => {
    const license = await exam.install({ type: 'consumption', features: [exampleFeature('export')] });
    await exam.consume(3);
    await exam.consume(4);
    await exam.consume(2, { feature: 'export' });
    exam.clock.advance(DAY_MS);
    await exam.consume(1);
    const span = { since: instant(0), until: plus(await exam.now(), 1), licenseId: license.id };
    const days = await exam.store.read({
      kind: 'list_consumption_history',
      ...span,
      feature: null,
      limit: 10,
    });
    const today = plus(NOW, -12 * HOUR_MS);
    assert.deepEqual(
      days.map(({ day, feature, amount }) => [day, feature, amount]),
      [
        [plus(today, DAY_MS), null, 1],
        [today, null, 7],
        [today, 'export', 2],
      ],
    );
  },

  'thinning makes it coarser and keeps every total': async (exam: ExamStore) => {
    const license = await haveHistory(exam);
    const usersBefore = await readUsers(exam);
    for (const days of [8, 32, 100]) {
      exam.clock.advance(days * DAY_MS);
      assert.ok((await thin(exam)) > 0, `after ${days} more days`);
      const after = await readSeries(exam, license, '', DAY_MS);
      const { average, at, ...point } = after.points[0] as SlotPoint;
      assert.deepEqual(point, { ...POINT, inUse: 0, peak: 1, grants: 2, returns: 2, denials: 3 });
      assert.ok(Math.abs(average - 13 / (12 * 60)) < 1e-9, String(average));
      assert.equal(at, NOW, 'the license was added at noon');
      const { total, denials } = await readDenials(exam);
      assert.deepEqual([total, denials.length, denials[0]?.user], [3, 1, 'bob']);
      assert.deepEqual(await readUsers(exam), usersBefore);
    }
    assert.equal(await thin(exam), 0, 'it is done');
  },

  'what is older than the days to keep is forgotten, and what is held still counts': async (
    exam: ExamStore,
  ) => {
    const license = await exam.install({ timeoutMinutes: 100 * 24 * 60 });
    await exam.register('ada');
    await exam.register('bob');
    exam.clock.advance(40 * DAY_MS);
    assert.ok((await thin(exam, 30)) > 0);
    assert.deepEqual(await readUsers(exam), []);
    const { points } = await readSeries(exam, license, '', DAY_MS);
    assert.deepEqual(
      points.map(({ inUse, grants }) => [inUse, grants]),
      [[2, 0]],
    );
  },

  'a user who is forgotten is one of the others, and the totals stay': async (exam: ExamStore) => {
    const license = await haveHistory(exam);
    const forget = { kind: 'forget_user', user: 'bob', by: 'admin' } as const;
    assert.deepEqual(await exam.execute(forget), { kind: 'done', count: 2 });
    const { total, denials } = await readDenials(exam);
    assert.equal(total, 3);
    assert.deepEqual(
      denials.map(({ user, others, host, address, count }) => [user, others, host, address, count]),
      [[null, true, null, null, 3]],
    );
    const listed = (await readUsers(exam)).map(({ user, others, grants }) => [user, others, grants]);
    assert.deepEqual(listed, [
      [null, true, 1],
      ['ada', false, 1],
    ]);
    assert.equal((await readSeries(exam, license)).totals.denials, 3);
    assert.deepEqual(await exam.execute(forget), { kind: 'done', count: 0 });
    const events = await exam.listEventsOf('user_forgotten', 'system');
    assert.deepEqual(events, [{ kind: 'user_forgotten', records: 2, by: 'admin' }]);
  },

  'nobody can fill it with invented names': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('ada', from('192.0.2.7'));
    await Promise.all(users(600).map((user) => exam.register(user, from('192.0.2.66'))));
    await exam.register('fay', from('192.0.2.8'));
    const { total, byUser } = await readDenials(exam);
    assert.equal(total, 601);
    assert.deepEqual(byUser[0], { user: null, others: true, count: 100 });
    assert.equal((await readDenials(exam, 'fay')).total, 1, 'others are still named');
    assert.equal((await readUsers(exam)).length, 1 + 500 + 1 + 1);
    assert.equal((await readSeries(exam, license)).totals.denials, 601);
  },

  'a command that fails leaves nothing in it': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    const bad = register('bob', {}, { hostname: {} } as never);
    const sent = [exam.register('ada'), exam.execute(bad), exam.register('eve')];
    const ends = (await Promise.allSettled(sent)).map(({ status }) => status);
    assert.deepEqual(ends, ['fulfilled', 'rejected', 'fulfilled']);
    assert.equal((await readSeries(exam, license)).totals.grants, 2);
  },

  'nothing stays in the future when a wrong clock is reset': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    await exam.borrow('ada', plus(NOW, 20 * HOUR_MS));
    const wrong = plus(exam.clock.readWall(), YEAR_MS);
    await exam.restart(() => exam.clock.setWall(wrong));
    await exam.register('bob');
    exam.clock.advance(HOUR_MS);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    await exam.register('eve');
    await exam.consume(1);
    exam.clock.setWall(plus(NOW, 2 * HOUR_MS));
    await exam.execute({ kind: 'reset_clock', by: 'admin' });
    const { points } = await readSeries(exam, license);
    assert.deepEqual(
      points.map((point) => [(point.at - NOW) / HOUR_MS, point.inUse, point.borrowed, point.grants]),
      [
        [0, 1, 1, 1],
        [2, 2, 1, 3],
      ],
    );
    const now = await exam.now();
    for (const { lastAt } of await readUsers(exam)) assert.ok(lastAt <= now);
  },
};
