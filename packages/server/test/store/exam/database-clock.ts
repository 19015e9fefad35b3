import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../../core/examples.ts';
import { YEAR_MS } from './clock.ts';
import { codeOf, type ExamStore } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const RESET = { kind: 'reset_clock', by: 'admin' } as const;

/** Moves the database's clock, while all servers are alive. */
function moveClock(exam: ExamStore, millis: number): void {
  exam.clock.setWall(plus(exam.clock.readWall(), millis));
}

/** Servers on several machines have several clocks: only that of the database counts. */
export const DATABASE_CLOCK = {
  'set back, it extends nothing: time waits until the clock catches up': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada');
    moveClock(exam, -HOUR_MS);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
    assert.equal(await exam.now(), NOW);
    moveClock(exam, HOUR_MS + TIMEOUT_MS - 1);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    moveClock(exam, 1);
    assert.equal(codeOf(await exam.register('bob')), 'granted');
  },

  'set back over a restart, it extends nothing either': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada');
    await exam.restart(() => moveClock(exam, -HOUR_MS));
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
    assert.equal((await exam.store.keepClock()).jump?.direction, 'behind');
  },

  'the time of a license never runs back, whatever the clock does': async (exam: ExamStore) => {
    await exam.install({ slots: 5 });
    let last = 0;
    for (const step of [1, -HOUR_MS, MINUTE_MS, HOUR_MS, -1, 0]) {
      moveClock(exam, step);
      await exam.register('ada');
      const registered = (await exam.findSlot('ada'))?.endsAt as number;
      assert.ok(registered >= last);
      last = registered;
    }
  },

  'a jump without any live server is a rest: live slots get their timeout': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('ada');
    const wall = plus(NOW, YEAR_MS);
    await exam.restart(() => exam.clock.setWall(wall));
    assert.equal(await exam.now(), wall);
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(wall, TIMEOUT_MS));
  },

  'a server that is back within half a minute extends nothing': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('ada');
    await exam.restart(() => exam.clock.advance(29_000));
    assert.equal((await exam.findSlot('ada'))?.endsAt, plus(NOW, TIMEOUT_MS));
  },

  'a wrong time goes back: live slots get one timeout, borrows are capped, ended ones stay ended': async (
    exam: ExamStore,
  ) => {
    const license = await exam.install({ slots: 5 });
    await exam.register('ended');
    moveClock(exam, YEAR_MS);
    await exam.register('live');
    await exam.borrow('borrower', 'longest');
    moveClock(exam, -YEAR_MS);
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_reset');
    assert.equal(await exam.now(), NOW);
    const slots = await exam.listSlots();
    assert.deepEqual(
      slots.map(({ user, endsAt, borrowedUntil }) => [user, endsAt, borrowedUntil]),
      [
        ['borrower', plus(NOW, 24 * HOUR_MS), plus(NOW, 24 * HOUR_MS)],
        ['live', plus(NOW, TIMEOUT_MS), null],
      ],
    );
    assert.equal((await exam.listEventsOf('slot_expired', license.id)).length, 1);
    const [reset] = await exam.listEventsOf('clock_reset', 'system');
    assert.deepEqual(reset, { kind: 'clock_reset', from: plus(NOW, YEAR_MS), to: NOW, by: 'admin' });
    await exam.restart();
    assert.equal(await exam.now(), NOW);
  },

  'thousands that had ended stay ended': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3000 });
    const names = Array.from({ length: 2050 }, (_, index) => `user-${index}`);
    await Promise.all(names.map((user) => exam.register(user)));
    moveClock(exam, YEAR_MS);
    await exam.execute({ kind: 'collect', licenseId: license.id });
    moveClock(exam, -YEAR_MS);
    await exam.execute(RESET);
    assert.equal(await exam.countInUse(license), 0);
    assert.equal((await exam.listEventsOf('slot_expired', license.id)).length, 2050);
  },

  'a time that is not ahead is left alone, and nothing can be accepted': async (exam: ExamStore) => {
    moveClock(exam, -5 * MINUTE_MS);
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_not_poisoned');
    assert.equal(codeOf(await exam.execute({ kind: 'accept_clock', by: 'admin' })), 'clock_not_ahead');
    moveClock(exam, -1);
    assert.equal(codeOf(await exam.execute(RESET)), 'clock_reset');
    assert.equal(await exam.now(), plus(NOW, -5 * MINUTE_MS - 1));
  },

  'a reset that throws moves no time': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('ada');
    const before = await exam.listSlots();
    moveClock(exam, -HOUR_MS);
    const by = 10n as unknown as string;
    await assert.rejects(exam.execute({ kind: 'reset_clock', by }));
    assert.equal(await exam.now(), NOW);
    assert.deepEqual(await exam.listSlots(), before);
  },
};
