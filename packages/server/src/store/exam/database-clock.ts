import assert from 'node:assert/strict';
import { NOW } from '../../core/examples.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../core/nouns/instant.ts';
import { YEAR_MS } from './clock.ts';
import { type Bench, codeOf } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

/** Moves the database's clock, while all servers are alive. */
function moveClock(bench: Bench, millis: number): void {
  bench.clock.setWall(plus(bench.clock.readWall(), millis));
}

/** Servers on several machines have several clocks: only that of the database counts. */
export const DATABASE_CLOCK = {
  'set back, it makes nothing longer: time waits until it is there again': async (bench: Bench) => {
    await bench.install({ slots: 1 });
    await bench.register('ada');
    moveClock(bench, -HOUR_MS);
    assert.equal(codeOf(await bench.register('bob')), 'floating_not_available');
    assert.equal((await bench.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
    assert.equal(await bench.now(), NOW);
    moveClock(bench, HOUR_MS + TIMEOUT_MS - 1);
    assert.equal(codeOf(await bench.register('bob')), 'floating_not_available');
    moveClock(bench, 1);
    assert.equal(codeOf(await bench.register('bob')), 'granted');
  },

  'set back over a restart, it makes nothing longer either': async (bench: Bench) => {
    await bench.install({ slots: 1 });
    await bench.register('ada');
    await bench.restart(() => moveClock(bench, -HOUR_MS));
    assert.equal(codeOf(await bench.register('bob')), 'floating_not_available');
    assert.equal((await bench.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
    assert.equal((await bench.store.keepClock()).jump?.direction, 'behind');
  },

  'the time of a license never runs back, whatever the clock does': async (bench: Bench) => {
    await bench.install({ slots: 5 });
    let last = 0;
    for (const step of [1, -HOUR_MS, MINUTE_MS, HOUR_MS, -1, 0]) {
      moveClock(bench, step);
      await bench.register('ada');
      const registered = (await bench.findSlot('ada'))?.endsAt as number;
      assert.ok(registered >= last);
      last = registered;
    }
  },

  'a clock that nothing is alive by is a rest: live slots get their timeout': async (bench: Bench) => {
    await bench.install();
    await bench.register('ada');
    const wall = plus(NOW, YEAR_MS);
    await bench.restart(() => bench.clock.setWall(wall));
    assert.equal(await bench.now(), wall);
    assert.equal((await bench.findSlot('ada'))?.endsAt, plus(wall, TIMEOUT_MS));
  },

  'a server that is back within half a minute prolongs nothing': async (bench: Bench) => {
    await bench.install();
    await bench.register('ada');
    await bench.restart(() => bench.clock.advance(29_000));
    assert.equal((await bench.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
  },

  'a poisoned time goes back: live slots get one timeout, borrows are capped, ended ones stay ended': async (
    bench: Bench,
  ) => {
    const license = await bench.install({ slots: 5 });
    await bench.register('ended');
    moveClock(bench, YEAR_MS);
    await bench.register('live');
    await bench.borrow('borrower', 'longest');
    moveClock(bench, -YEAR_MS);
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_reset');
    assert.equal(await bench.now(), NOW);
    const slots = await bench.listSlots();
    assert.deepEqual(
      slots.map(({ user, endsAt, borrowedUntil }) => [user, endsAt, borrowedUntil]),
      [
        ['borrower', plus(NOW, 24 * HOUR_MS), plus(NOW, 24 * HOUR_MS)],
        ['live', plus(NOW, TIMEOUT_MS), null],
      ],
    );
    assert.equal((await bench.listEventsOf('slot_expired', license.id)).length, 1);
    const [reset] = await bench.listEventsOf('clock_reset', 'system');
    assert.deepEqual(reset, { kind: 'clock_reset', from: plus(NOW, YEAR_MS), to: NOW, by: 'admin' });
    await bench.restart();
    assert.equal(await bench.now(), NOW);
  },

  'thousands that had ended do not come back': async (bench: Bench) => {
    const license = await bench.install({ slots: 3000 });
    const names = Array.from({ length: 2050 }, (_, index) => `user-${index}`);
    await Promise.all(names.map((user) => bench.register(user)));
    moveClock(bench, YEAR_MS);
    await bench.execute({ kind: 'collect', licenseId: license.id });
    moveClock(bench, -YEAR_MS);
    await bench.execute(RESET);
    assert.equal(await bench.countInUse(license), 0);
    assert.equal((await bench.listEventsOf('slot_expired', license.id)).length, 2050);
  },

  'a time that is not ahead is left alone, and nothing can be accepted': async (bench: Bench) => {
    moveClock(bench, -5 * MINUTE_MS);
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_not_poisoned');
    assert.equal(codeOf(await bench.execute({ kind: 'accept_clock', by: 'admin' })), 'clock_not_ahead');
    moveClock(bench, -1);
    assert.equal(codeOf(await bench.execute(RESET)), 'clock_reset');
    assert.equal(await bench.now(), plus(NOW, -5 * MINUTE_MS - 1));
  },

  'a reset that throws moves no time': async (bench: Bench) => {
    await bench.install();
    await bench.register('ada');
    const before = await bench.listSlots();
    moveClock(bench, -HOUR_MS);
    const by = 10n as unknown as string;
    await assert.rejects(bench.execute({ kind: 'reset_clock', by }));
    assert.equal(await bench.now(), NOW);
    assert.deepEqual(await bench.listSlots(), before);
  },
};
