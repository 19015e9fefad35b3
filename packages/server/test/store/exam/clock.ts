import assert from 'node:assert/strict';
import { JUMP_PATIENCE_MS } from '../../../src/core/clock/clock.ts';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
export const YEAR_MS = 365 * 24 * HOUR_MS;
const ACCEPT = { kind: 'accept_clock', by: 'admin' } as const;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

/** Sets the wall clock wrong while the server runs; it goes on from there. */
function setWallBy(exam: ExamStore, millis: number): void {
  exam.clock.setWall(plus(exam.clock.readWall(), millis));
}

export const RUNNING_CLOCK = {
  'a wall clock set back extends nothing': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada');
    setWallBy(exam, -HOUR_MS);
    exam.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    exam.clock.advance(1);
    const { now } = grantedOf(await exam.register('bob'));
    assert.equal(now, plus(NOW, TIMEOUT_MS));
    const jumps = await exam.listEventsOf('clock_jumped', 'system');
    assert.deepEqual(
      jumps.map(({ direction, followed }) => [direction, followed]),
      [['behind', false]],
    );
  },

  'a wall clock a year ahead frees nothing early': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    await exam.register('ada');
    await exam.borrow('bob', 'longest');
    setWallBy(exam, YEAR_MS);
    exam.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available');
    assert.deepEqual(await exam.listUsers(), ['ada', 'bob']);
    exam.clock.advance(1);
    assert.deepEqual(await exam.listUsers(), ['bob']);
    const jump = { direction: 'ahead', seenAt: plus(NOW, TIMEOUT_MS - 1), gapMs: YEAR_MS };
    const status = await exam.store.keepClock();
    assert.deepEqual(status, {
      now: plus(NOW, TIMEOUT_MS),
      wall: plus(NOW, TIMEOUT_MS + YEAR_MS),
      jump,
      jumpAtStart: null,
    });
  },

  'a jump is reported and recorded once, and so is its end': async (exam: ExamStore) => {
    await exam.install();
    setWallBy(exam, -HOUR_MS);
    for (let second = 0; second < 5; second++) {
      exam.clock.advance(1000);
      await exam.store.keepClock();
      await exam.register('ada');
    }
    setWallBy(exam, HOUR_MS);
    await exam.store.keepClock();
    assert.deepEqual(
      exam.notices.map(({ kind }) => kind),
      ['clock_jumped', 'clock_agrees'],
    );
    assert.equal((await exam.listEventsOf('clock_jumped', 'system')).length, 1);
  },

  'a wall clock a little ahead is followed, a little behind is waited for': async (exam: ExamStore) => {
    setWallBy(exam, 4 * MINUTE_MS);
    assert.equal(await exam.now(), plus(NOW, 4 * MINUTE_MS));
    setWallBy(exam, -4 * MINUTE_MS);
    assert.equal(await exam.now(), plus(NOW, 4 * MINUTE_MS));
    exam.clock.advance(MINUTE_MS);
    assert.equal(await exam.now(), plus(NOW, 5 * MINUTE_MS), 'it never stands still');
    assert.deepEqual(exam.notices, []);
  },

  'whatever the wall clock does, time does not run back': async (exam: ExamStore) => {
    await exam.install();
    let last: Instant = NOW;
    const steps = [-HOUR_MS, 2 * HOUR_MS, -1, YEAR_MS, -2 * YEAR_MS, 4 * MINUTE_MS, YEAR_MS, -3 * MINUTE_MS];
    for (const [index, step] of steps.entries()) {
      setWallBy(exam, step);
      exam.clock.advance(index % 3);
      if (index === 5) await exam.crash();
      if (index === 6) await exam.restart();
      const { now } = grantedOf(await exam.register('ada'));
      assert.ok(now >= last, `${now} is before ${last}`);
      last = now;
    }
  },

  'passed time is remembered when a slot has ended in it': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.register('ada');
    exam.clock.advance(TIMEOUT_MS - 1);
    await exam.store.keepClock();
    exam.clock.advance(1);
    await exam.store.keepClock();
    // Back to before the slot's end: only the mark says that it is over.
    await exam.crash(() => exam.clock.setWall(NOW));
    assert.equal(await exam.countInUse(license), 0);
  },
};

export const ACCEPTED_CLOCK = {
  'a jump ahead can be accepted: it counts as downtime and ends no slot': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    await exam.register('ended');
    exam.clock.advance(TIMEOUT_MS);
    await exam.register('live');
    await exam.borrow('borrower', 'longest');
    setWallBy(exam, YEAR_MS);
    assert.deepEqual(await exam.execute(ACCEPT), { kind: 'done', count: 1 });
    const now = plus(NOW, TIMEOUT_MS + YEAR_MS);
    assert.equal(await exam.now(), now);
    const slots = await exam.listSlots();
    assert.deepEqual(
      slots.map(({ user, endsAt }) => [user, endsAt]),
      [
        ['borrower', plus(now, TIMEOUT_MS)],
        ['live', plus(now, TIMEOUT_MS)],
      ],
    );
    assert.deepEqual(await exam.listEventsOf('clock_accepted', 'system'), [
      { kind: 'clock_accepted', from: plus(NOW, TIMEOUT_MS), to: now, by: 'admin' },
    ]);
    assert.equal(codeOf(await exam.execute(ACCEPT)), 'clock_not_ahead');
  },

  'a jump back cannot be accepted': async (exam: ExamStore) => {
    setWallBy(exam, -HOUR_MS);
    assert.equal(codeOf(await exam.execute(ACCEPT)), 'clock_not_ahead');
    assert.equal(await exam.now(), NOW);
  },

  'a wall clock that stays ahead for a day is followed': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    setWallBy(exam, YEAR_MS);
    await exam.store.keepClock();
    exam.clock.advance(JUMP_PATIENCE_MS - TIMEOUT_MS);
    await exam.register('ended');
    exam.clock.advance(TIMEOUT_MS - 1);
    await exam.register('live');
    exam.clock.advance(1);
    assert.deepEqual(await exam.listUsers(), ['live'], 'asking does not end what will be prolonged');
    const to = plus(NOW, JUMP_PATIENCE_MS + YEAR_MS);
    assert.equal(await exam.now(), to);
    assert.equal((await exam.findSlot('live'))?.endsAt, plus(to, TIMEOUT_MS));
    assert.equal(await exam.countInUse(license), 1);
    const from = plus(NOW, JUMP_PATIENCE_MS);
    assert.deepEqual(await exam.listEventsOf('clock_accepted', 'system'), [
      { kind: 'clock_accepted', from, to, by: 'server' },
    ]);
    assert.deepEqual(exam.notices.at(-1), { kind: 'clock_taken_over', from, to });
  },

  'a wall clock that jumps again within the day has to wait again': async (exam: ExamStore) => {
    setWallBy(exam, YEAR_MS);
    await exam.store.keepClock();
    exam.clock.advance(JUMP_PATIENCE_MS - 1);
    setWallBy(exam, HOUR_MS);
    await exam.store.keepClock();
    exam.clock.advance(JUMP_PATIENCE_MS - 1);
    assert.equal(await exam.now(), plus(NOW, 2 * JUMP_PATIENCE_MS - 2));
    exam.clock.advance(1);
    assert.equal(await exam.now(), plus(NOW, 2 * JUMP_PATIENCE_MS - 1 + YEAR_MS + HOUR_MS));
  },
};

/** The store was opened while the wall clock was a year ahead, and the clock is right again. */
async function poison(exam: ExamStore): Promise<Instant> {
  await exam.restart(() => setWallBy(exam, YEAR_MS));
  const poisoned = await exam.now();
  setWallBy(exam, -YEAR_MS);
  return poisoned;
}

export const RESET_CLOCK = {
  'a wrong time goes back, live slots get one timeout, borrows are capped': async (exam: ExamStore) => {
    await exam.install({ slots: 5 });
    await exam.register('ended');
    exam.clock.advance(1);
    const from = await poison(exam);
    exam.clock.advance(TIMEOUT_MS);
    await exam.register('live');
    await exam.borrow('borrower', 'longest');
    await exam.borrow('short', plus(from, TIMEOUT_MS + HOUR_MS));
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_reset');
    const now = plus(NOW, TIMEOUT_MS + 1);
    assert.equal(await exam.now(), now);
    const slots = await exam.listSlots();
    assert.deepEqual(
      slots.map(({ user, endsAt, borrowedUntil }) => [user, endsAt, borrowedUntil]),
      [
        ['borrower', plus(now, 24 * HOUR_MS), plus(now, 24 * HOUR_MS)],
        ['live', plus(now, TIMEOUT_MS), null],
        ['short', plus(now, 24 * HOUR_MS), plus(now, 24 * HOUR_MS)],
      ],
    );
    for (const { registeredAt } of slots) assert.ok(registeredAt <= now);
    const [reset] = await exam.listEventsOf('clock_reset', 'system');
    assert.deepEqual(reset, { kind: 'clock_reset', from: plus(from, TIMEOUT_MS), to: now, by: 'admin' });
    exam.clock.advance(TIMEOUT_MS);
    assert.deepEqual(await exam.listUsers(), ['borrower', 'short']);
  },

  'a borrow that ended because a wrong clock was accepted is restored': async (exam: ExamStore) => {
    const license = await exam.install();
    await exam.borrow('ada', plus(NOW, 20 * HOUR_MS));
    setWallBy(exam, YEAR_MS);
    await exam.execute(ACCEPT);
    exam.clock.advance(TIMEOUT_MS);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    assert.deepEqual(await exam.listUsers(), []);
    setWallBy(exam, -YEAR_MS);
    await exam.execute(RESET);
    assert.equal((await exam.findSlot('ada'))?.borrowedUntil, plus(NOW, 20 * HOUR_MS));
  },

  'it stays back over a restart': async (exam: ExamStore) => {
    await exam.install();
    await poison(exam);
    await exam.execute(RESET);
    await exam.restart();
    assert.equal(await exam.now(), NOW);
    await exam.crash();
    assert.equal(await exam.now(), NOW);
  },

  'thousands that had ended stay ended': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3000 });
    const names = Array.from({ length: 2050 }, (_, index) => `user-${index}`);
    await Promise.all(names.map((user) => exam.register(user)));
    await poison(exam);
    exam.clock.advance(TIMEOUT_MS);
    await exam.execute(RESET);
    assert.equal(await exam.countInUse(license), 0);
    assert.equal((await exam.listEventsOf('slot_expired', license.id)).length, 2050);
  },

  'denials of the wrong year still count': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await poison(exam);
    await exam.borrow('ada', 'longest');
    await exam.register('bob');
    await exam.execute(RESET);
    await exam.borrow('ada', 'longest');
    await exam.register('bob');
    assert.equal((await exam.listEventsOf('slot_denied', license.id)).length, 1, 'within its minute');
  },

  'a time that is not ahead is left alone': async (exam: ExamStore) => {
    setWallBy(exam, YEAR_MS);
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_not_poisoned');
    setWallBy(exam, -YEAR_MS - 5 * MINUTE_MS);
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_not_poisoned');
    setWallBy(exam, -1);
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_reset');
    assert.equal(await exam.now(), plus(NOW, -5 * MINUTE_MS - 1));
  },
};
