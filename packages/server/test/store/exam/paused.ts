import assert from 'node:assert/strict';
import { DOWNTIME_MS } from '../../../src/core/clock/clock.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { exampleFeature, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** No server ran for a while, but none was started anew: it was stopped, or its machine slept. */
export const PAUSED = {
  'whoever asks first gets no slot of those who could not renew': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    for (const user of users(5)) await exam.register(user);
    exam.clock.pause(TIMEOUT_MS + 1);
    const asked = users(5, 'stranger').map((user) => exam.register(user));
    for (const outcome of await Promise.all(asked)) assert.equal(codeOf(outcome), 'floating_not_available');
    const now = plus(NOW, TIMEOUT_MS + 1);
    const ends = (await exam.listSlots()).map(({ user, endsAt }) => [user, endsAt]);
    assert.deepEqual(
      ends,
      users(5).map((user) => [user, plus(now, TIMEOUT_MS)]),
    );
    exam.clock.advance(TIMEOUT_MS);
    assert.equal(codeOf(await exam.register('stranger')), 'granted', 'a full timeout, and no more');
    assert.equal(await exam.countInUse(license), 1);
  },

  'nobody asks: slots are there when the keeper looks': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('ada');
    exam.clock.pause(8 * HOUR_MS);
    assert.equal(await exam.now(), plus(NOW, 8 * HOUR_MS));
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, 8 * HOUR_MS + TIMEOUT_MS));
    exam.clock.pause(8 * HOUR_MS);
    await exam.now();
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, 16 * HOUR_MS + TIMEOUT_MS));
  },

  'half a minute is no pause': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada');
    exam.clock.advance(TIMEOUT_MS - DOWNTIME_MS);
    await exam.now();
    exam.clock.pause(DOWNTIME_MS);
    assert.equal(codeOf(await exam.register('bob')), 'granted');
  },

  'what had ended before stays ended': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    await exam.register('ended');
    exam.clock.advance(1);
    await exam.register('live');
    exam.clock.advance(TIMEOUT_MS - 1);
    await exam.now();
    exam.clock.pause(HOUR_MS);
    assert.equal(codeOf(await exam.unregister('ended')), 'device_not_found');
    assert.deepEqual(await exam.listUsers(), ['live']);
    assert.equal(await exam.countInUse(license), 1);
  },

  'a slot that was renewed counts by its new end': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    for (const user of ['ada', 'bob']) await exam.register(user);
    exam.clock.advance(TIMEOUT_MS / 2);
    await exam.register('ada');
    exam.clock.advance(TIMEOUT_MS / 2);
    await exam.now();
    exam.clock.pause(HOUR_MS);
    await exam.register('eve');
    assert.deepEqual(await exam.listUsers(), ['ada', 'eve'], 'bob had lost his');
    await exam.crash();
    assert.deepEqual(await exam.listUsers(), ['ada', 'eve']);
    assert.ok(Number((await exam.findSlot('ada'))?.endsAt) >= plus(NOW, HOUR_MS + 2 * TIMEOUT_MS));
  },

  'borrows keep their date; one that ended meanwhile gets a timeout': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    await exam.borrow('long', plus(NOW, 20 * HOUR_MS));
    await exam.borrow('short', plus(NOW, HOUR_MS));
    exam.clock.pause(2 * HOUR_MS);
    await exam.register('eve');
    const [long, short] = [await exam.findSlot('long'), await exam.findSlot('short')];
    const date = plus(NOW, 20 * HOUR_MS);
    assert.deepEqual([long?.borrowedUntil, long?.endsAt], [date, date]);
    const end = plus(NOW, 2 * HOUR_MS + TIMEOUT_MS);
    assert.deepEqual([short?.borrowedUntil, short?.endsAt], [plus(NOW, HOUR_MS), end]);
  },

  'feature slots stay with their users': async (exam: ExamStore) => {
    const floating = { slots: 1, timeoutMinutes: 2, canBorrow: false, maxBorrowHours: 0 };
    const license = await exam.install({ features: [exampleFeature('render', { floating })] });
    for (const user of ['ada', 'bob']) await exam.register(user);
    await exam.registerFeature('ada');
    exam.clock.pause(HOUR_MS);
    assert.equal(codeOf(await exam.registerFeature('bob')), 'floating_not_available');
    exam.clock.advance(2 * MINUTE_MS - 1);
    assert.equal(await exam.countFeatureSlots(license), 1);
    exam.clock.advance(1);
    assert.equal(await exam.countFeatureSlots(license), 0);
  },

  'the server is told to end before it has done anything': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('ada');
    exam.clock.pause(HOUR_MS);
    await exam.restart();
    assert.deepEqual(await exam.listUsers(), ['ada']);
  },
};

/** How a store of one server tells a pause from a clock that was set. */
export const PAUSED_ALONE = {
  'sleep is no jump, however long, and the log says so': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('ada');
    exam.clock.pause(DAY_MS);
    assert.deepEqual(await exam.listUsers(), ['ada'], 'a list that is asked for first');
    assert.equal((await exam.store.keepClock()).jump, null);
    assert.deepEqual(exam.notices, [{ kind: 'server_paused', from: NOW, to: plus(NOW, DAY_MS) }]);
  },

  'a snapshot that is resumed moves the wall clock only': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada');
    exam.clock.advance(TIMEOUT_MS - MINUTE_MS);
    await exam.now();
    exam.clock.pause(0);
    exam.clock.setWall(plus(exam.clock.readWall(), 4 * MINUTE_MS));
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, 2 * TIMEOUT_MS + 3 * MINUTE_MS));
  },

  'an old snapshot has a clock that jumped: time goes on from where it was': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada');
    exam.clock.pause(0);
    exam.clock.setWall(plus(NOW, DAY_MS));
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
    assert.equal((await exam.store.keepClock()).jump?.direction, 'ahead');
  },
};
