import assert from 'node:assert/strict';
import { JUMP_PATIENCE_MS } from '../../core/clock/clock.ts';
import { NOW } from '../../core/examples.ts';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { type Bench, codeOf, grantedOf } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
export const YEAR_MS = 365 * 24 * HOUR_MS;
const ACCEPT = { kind: 'accept_clock', by: 'admin' } as const;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

/** Sets the wall clock wrong while the server runs; it goes on from there. */
function setWallBy(bench: Bench, millis: number): void {
  bench.clock.setWall(plus(bench.clock.readWall(), millis));
}

export const RUNNING_CLOCK = {
  'a wall clock set back makes nothing longer': async (bench: Bench) => {
    await bench.install({ slots: 1 });
    await bench.register('ada');
    setWallBy(bench, -HOUR_MS);
    bench.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await bench.register('bob')), 'floating_not_available');
    bench.clock.advance(1);
    const { now } = grantedOf(await bench.register('bob'));
    assert.equal(now, plus(NOW, TIMEOUT_MS));
    const jumps = await bench.listEventsOf('clock_jumped', 'system');
    assert.deepEqual(
      jumps.map(({ direction, followed }) => [direction, followed]),
      [['behind', false]],
    );
  },

  'a wall clock a year ahead frees nothing early': async (bench: Bench) => {
    await bench.install({ slots: 2 });
    await bench.register('ada');
    await bench.borrow('bob', 'longest');
    setWallBy(bench, YEAR_MS);
    bench.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await bench.register('eve')), 'floating_not_available');
    assert.deepEqual(await bench.listUsers(), ['ada', 'bob']);
    bench.clock.advance(1);
    assert.deepEqual(await bench.listUsers(), ['bob']);
    const jump = { direction: 'ahead', seenAt: plus(NOW, TIMEOUT_MS - 1), gapMs: YEAR_MS };
    const status = await bench.store.keepClock();
    assert.deepEqual(status, {
      now: plus(NOW, TIMEOUT_MS),
      wall: plus(NOW, TIMEOUT_MS + YEAR_MS),
      jump,
      jumpAtStart: null,
    });
  },

  'a jump is told and recorded once, and so is its end': async (bench: Bench) => {
    await bench.install();
    setWallBy(bench, -HOUR_MS);
    for (let second = 0; second < 5; second++) {
      bench.clock.advance(1000);
      await bench.store.keepClock();
      await bench.register('ada');
    }
    setWallBy(bench, HOUR_MS);
    await bench.store.keepClock();
    assert.deepEqual(
      bench.notices.map(({ kind }) => kind),
      ['clock_jumped', 'clock_agrees'],
    );
    assert.equal((await bench.listEventsOf('clock_jumped', 'system')).length, 1);
  },

  'a wall clock a little ahead is followed, a little behind is waited for': async (bench: Bench) => {
    setWallBy(bench, 4 * MINUTE_MS);
    assert.equal(await bench.now(), plus(NOW, 4 * MINUTE_MS));
    setWallBy(bench, -4 * MINUTE_MS);
    assert.equal(await bench.now(), plus(NOW, 4 * MINUTE_MS));
    bench.clock.advance(MINUTE_MS);
    assert.equal(await bench.now(), plus(NOW, 5 * MINUTE_MS), 'it never stands still');
    assert.deepEqual(bench.notices, []);
  },

  'whatever the wall clock does, time does not run back': async (bench: Bench) => {
    await bench.install();
    let last: Instant = NOW;
    const steps = [-HOUR_MS, 2 * HOUR_MS, -1, YEAR_MS, -2 * YEAR_MS, 4 * MINUTE_MS, YEAR_MS, -3 * MINUTE_MS];
    for (const [index, step] of steps.entries()) {
      setWallBy(bench, step);
      bench.clock.advance(index % 3);
      if (index === 5) await bench.crash();
      if (index === 6) await bench.restart();
      const { now } = grantedOf(await bench.register('ada'));
      assert.ok(now >= last, `${now} is before ${last}`);
      last = now;
    }
  },

  'time that has passed is remembered when a slot has ended in it': async (bench: Bench) => {
    const license = await bench.install();
    await bench.register('ada');
    bench.clock.advance(TIMEOUT_MS - 1);
    await bench.store.keepClock();
    bench.clock.advance(1);
    await bench.store.keepClock();
    // Back to before the slot's end: only the mark says that it is over.
    await bench.crash(() => bench.clock.setWall(NOW));
    assert.equal(await bench.countInUse(license), 0);
  },
};

export const ACCEPTED_CLOCK = {
  'a jump ahead can be accepted: downtime for all, no end for any': async (bench: Bench) => {
    await bench.install({ slots: 3 });
    await bench.register('ended');
    bench.clock.advance(TIMEOUT_MS);
    await bench.register('live');
    await bench.borrow('borrower', 'longest');
    setWallBy(bench, YEAR_MS);
    assert.deepEqual(await bench.execute(ACCEPT), { kind: 'done', count: 1 });
    const now = plus(NOW, TIMEOUT_MS + YEAR_MS);
    assert.equal(await bench.now(), now);
    const slots = await bench.listSlots();
    assert.deepEqual(
      slots.map(({ user, endsAt }) => [user, endsAt]),
      [
        ['borrower', plus(now, TIMEOUT_MS)],
        ['live', plus(now, TIMEOUT_MS)],
      ],
    );
    assert.deepEqual(await bench.listEventsOf('clock_accepted', 'system'), [
      { kind: 'clock_accepted', from: plus(NOW, TIMEOUT_MS), to: now, by: 'admin' },
    ]);
    assert.equal(codeOf(await bench.execute(ACCEPT)), 'clock_not_ahead');
  },

  'a jump back cannot be accepted': async (bench: Bench) => {
    setWallBy(bench, -HOUR_MS);
    assert.equal(codeOf(await bench.execute(ACCEPT)), 'clock_not_ahead');
    assert.equal(await bench.now(), NOW);
  },

  'a wall clock that stays ahead for a day is followed': async (bench: Bench) => {
    const license = await bench.install({ slots: 3 });
    setWallBy(bench, YEAR_MS);
    await bench.store.keepClock();
    bench.clock.advance(JUMP_PATIENCE_MS - TIMEOUT_MS);
    await bench.register('ended');
    bench.clock.advance(TIMEOUT_MS - 1);
    await bench.register('live');
    bench.clock.advance(1);
    assert.deepEqual(await bench.listUsers(), ['live'], 'asking does not end what will be prolonged');
    const to = plus(NOW, JUMP_PATIENCE_MS + YEAR_MS);
    assert.equal(await bench.now(), to);
    assert.equal((await bench.findSlot('live'))?.endsAt, plus(to, TIMEOUT_MS));
    assert.equal(await bench.countInUse(license), 1);
    const from = plus(NOW, JUMP_PATIENCE_MS);
    assert.deepEqual(await bench.listEventsOf('clock_accepted', 'system'), [
      { kind: 'clock_accepted', from, to, by: 'server' },
    ]);
    assert.deepEqual(bench.notices.at(-1), { kind: 'clock_taken_over', from, to });
  },

  'a wall clock that jumps again within the day has to wait again': async (bench: Bench) => {
    setWallBy(bench, YEAR_MS);
    await bench.store.keepClock();
    bench.clock.advance(JUMP_PATIENCE_MS - 1);
    setWallBy(bench, HOUR_MS);
    await bench.store.keepClock();
    bench.clock.advance(JUMP_PATIENCE_MS - 1);
    assert.equal(await bench.now(), plus(NOW, 2 * JUMP_PATIENCE_MS - 2));
    bench.clock.advance(1);
    assert.equal(await bench.now(), plus(NOW, 2 * JUMP_PATIENCE_MS - 1 + YEAR_MS + HOUR_MS));
  },
};

/** The store was opened while the wall clock was a year ahead, and the clock is right again. */
async function poison(bench: Bench): Promise<Instant> {
  await bench.restart(() => setWallBy(bench, YEAR_MS));
  const poisoned = await bench.now();
  setWallBy(bench, -YEAR_MS);
  return poisoned;
}

export const RESET_CLOCK = {
  'a poisoned time goes back, live slots get one timeout, borrows are capped': async (bench: Bench) => {
    await bench.install({ slots: 5 });
    await bench.register('ended');
    bench.clock.advance(1);
    const from = await poison(bench);
    bench.clock.advance(TIMEOUT_MS);
    await bench.register('live');
    await bench.borrow('borrower', 'longest');
    await bench.borrow('short', plus(from, TIMEOUT_MS + HOUR_MS));
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_reset');
    const now = plus(NOW, TIMEOUT_MS + 1);
    assert.equal(await bench.now(), now);
    const slots = await bench.listSlots();
    assert.deepEqual(
      slots.map(({ user, endsAt, borrowedUntil }) => [user, endsAt, borrowedUntil]),
      [
        ['borrower', plus(now, 24 * HOUR_MS), plus(now, 24 * HOUR_MS)],
        ['live', plus(now, TIMEOUT_MS), null],
        ['short', plus(now, 24 * HOUR_MS), plus(now, 24 * HOUR_MS)],
      ],
    );
    for (const { registeredAt } of slots) assert.ok(registeredAt <= now);
    const [reset] = await bench.listEventsOf('clock_reset', 'system');
    assert.deepEqual(reset, { kind: 'clock_reset', from: plus(from, TIMEOUT_MS), to: now, by: 'admin' });
    bench.clock.advance(TIMEOUT_MS);
    assert.deepEqual(await bench.listUsers(), ['borrower', 'short']);
  },

  'a borrow that ended because a wrong clock was accepted comes back': async (bench: Bench) => {
    const license = await bench.install();
    await bench.borrow('ada', plus(NOW, 20 * HOUR_MS));
    setWallBy(bench, YEAR_MS);
    await bench.execute(ACCEPT);
    bench.clock.advance(TIMEOUT_MS);
    await bench.execute({ kind: 'collect', licenseId: license.id });
    assert.deepEqual(await bench.listUsers(), []);
    setWallBy(bench, -YEAR_MS);
    await bench.execute(RESET);
    assert.equal((await bench.findSlot('ada'))?.borrowedUntil, plus(NOW, 20 * HOUR_MS));
  },

  'it stays back over a restart': async (bench: Bench) => {
    await bench.install();
    await poison(bench);
    await bench.execute(RESET);
    await bench.restart();
    assert.equal(await bench.now(), NOW);
    await bench.crash();
    assert.equal(await bench.now(), NOW);
  },

  'thousands that had ended do not come back': async (bench: Bench) => {
    const license = await bench.install({ slots: 3000 });
    const names = Array.from({ length: 2050 }, (_, index) => `user-${index}`);
    await Promise.all(names.map((user) => bench.register(user)));
    await poison(bench);
    bench.clock.advance(TIMEOUT_MS);
    await bench.execute(RESET);
    assert.equal(await bench.countInUse(license), 0);
    assert.equal((await bench.listEventsOf('slot_expired', license.id)).length, 2050);
  },

  'denials of the wrong year still count': async (bench: Bench) => {
    const license = await bench.install({ slots: 1 });
    await poison(bench);
    await bench.borrow('ada', 'longest');
    await bench.register('bob');
    await bench.execute(RESET);
    await bench.borrow('ada', 'longest');
    await bench.register('bob');
    assert.equal((await bench.listEventsOf('slot_denied', license.id)).length, 1, 'within its minute');
  },

  'a time that is not ahead is left alone': async (bench: Bench) => {
    setWallBy(bench, YEAR_MS);
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_not_poisoned');
    setWallBy(bench, -YEAR_MS - 5 * MINUTE_MS);
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_not_poisoned');
    setWallBy(bench, -1);
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_reset');
    assert.equal(await bench.now(), plus(NOW, -5 * MINUTE_MS - 1));
  },
};
