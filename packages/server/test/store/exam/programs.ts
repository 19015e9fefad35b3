import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { countPrograms } from '../../../src/core/nouns/registration.ts';
import { exampleFeature, NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, measuredOf, users } from './exam-store.ts';

const TIMEOUT_MS = 10 * MINUTE_MS;
const [A, B, C] = [{ instance: 'a' }, { instance: 'b' }, { instance: 'c' }];
const LEFT = { kind: 'done', count: 0 };
const FREED = { kind: 'done', count: 1, programs: 0 };
const YEAR_MS = 365 * 24 * HOUR_MS;

/** How many programs use the slot; 0 also if there is none. */
async function countOf(exam: ExamStore, user = 'ada'): Promise<number> {
  const slot = await exam.findSlot(user);
  return slot === undefined ? 0 : countPrograms(slot.programs);
}

/** One slot, and one of the feature "render". */
function install(exam: ExamStore) {
  const floating = { slots: 1, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 24 };
  return exam.install({ slots: 1, features: [exampleFeature('render', { floating })] });
}

export const PROGRAMS = {
  'the slot is free when the last of them has left, in any order': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    for (const [first, second] of [
      [A, B],
      [B, A],
    ] as const) {
      await exam.register('ada', A);
      assert.equal(grantedOf(await exam.register('ada', B)).inUse, 1);
      assert.deepEqual(await exam.unregister('ada', first), { ...LEFT, programs: 1 });
      assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
      assert.deepEqual(await exam.unregister('ada', second), FREED);
      assert.equal(await exam.countInUse(license), 0);
    }
    assert.equal((await exam.listEventsOf('slot_returned', license.id)).length, 2);
  },

  'the slot lives as long as one of them sends heartbeats': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada', A);
    await exam.register('ada', B);
    exam.clock.advance(TIMEOUT_MS - 1);
    await exam.register('ada', B);
    exam.clock.advance(TIMEOUT_MS - 1);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    exam.clock.advance(1);
    assert.equal(codeOf(await exam.register('bob')), 'granted');
  },

  'a heartbeat of one that is known renews and does nothing else': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    for (const program of [A, B]) await exam.register('ada', program);
    const before = await exam.findSlot('ada');
    exam.clock.advance(MINUTE_MS);
    const { registration } = grantedOf(await exam.register('ada', A));
    assert.deepEqual(registration, { ...before, endsAt: plus(NOW, MINUTE_MS + TIMEOUT_MS) });
    assert.deepEqual(await exam.findSlot('ada'), registration);
  },

  'a return without a name frees the slot at once': async (exam: ExamStore) => {
    const { id } = await exam.install({ slots: 1 });
    for (const program of [A, B, C]) await exam.register('ada', program);
    assert.deepEqual(await exam.unregister('ada'), { kind: 'done', count: 1 });
    assert.equal(codeOf(await exam.unregister('ada', A)), 'device_not_found');
    assert.deepEqual(
      (await exam.listEventsOf('slot_returned', id)).map(({ programs }) => programs),
      [3],
    );
  },

  'one without a name keeps the slot when the others have left': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada', A);
    await exam.register('ada');
    assert.equal(await countOf(exam), 2);
    assert.deepEqual(await exam.unregister('ada', A), { ...LEFT, programs: 1 });
    assert.deepEqual(await exam.unregister('ada', A), { ...LEFT, programs: 1 });
    assert.equal((await exam.findSlot('ada'))?.programs, null);
    exam.clock.advance(TIMEOUT_MS);
    assert.equal(await exam.findSlot('ada'), undefined);
  },

  'the thirty-third takes the place of the first': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    const names = users(33);
    for (const instance of names) await exam.register('ada', { instance });
    assert.equal(await countOf(exam), 32);
    const [first, ...others] = names;
    assert.deepEqual(await exam.unregister('ada', { instance: first as string }), { ...LEFT, programs: 32 });
    for (const instance of others) await exam.unregister('ada', { instance });
    assert.equal(await exam.findSlot('ada'), undefined);
  },

  'a borrow ends only without a name': async (exam: ExamStore) => {
    await exam.install({ slots: 1 });
    await exam.register('ada', B);
    await exam.borrow('ada', plus(NOW, HOUR_MS), A);
    assert.deepEqual(await exam.unregister('ada', A), { ...LEFT, programs: 1 });
    assert.deepEqual(await exam.unregister('ada', B), { ...LEFT, programs: 0 });
    assert.equal(await countOf(exam), 0);
    assert.equal(codeOf(await exam.register('bob')), 'floating_not_available');
    await exam.register('ada', C);
    assert.equal(await countOf(exam), 1);
    assert.deepEqual(await exam.unregister('ada'), { kind: 'done', count: 1 });
    assert.equal(await exam.findSlot('ada'), undefined);
  },

  'a borrow that a wrong clock has ended comes back with its programs': async (exam: ExamStore) => {
    await install(exam);
    await exam.borrow('ada', plus(NOW, HOUR_MS), A);
    await exam.registerFeature('ada', { ...A, until: plus(NOW, HOUR_MS) });
    exam.clock.advance(YEAR_MS);
    assert.equal(codeOf(await exam.unregister('ada', A)), 'device_not_found');
    exam.clock.setWall(plus(exam.clock.readWall(), -YEAR_MS));
    await exam.execute({ kind: 'reset_clock', by: 'admin' });
    assert.equal(await countOf(exam), 1);
    assert.equal((await exam.findSlot('ada'))?.borrowedUntil, plus(NOW, HOUR_MS));
    assert.deepEqual(await exam.releaseFeature('ada', A), { ...LEFT, programs: 0 });
  },

  'a feature is held until the last of them has left it, or the license': async (exam: ExamStore) => {
    const license = await install(exam);
    for (const program of [A, B]) {
      await exam.register('ada', program);
      assert.equal(measuredOf(await exam.registerFeature('ada', program)).inUse, 1);
    }
    assert.deepEqual(await exam.releaseFeature('ada', A), { ...LEFT, programs: 1 });
    assert.deepEqual(await exam.releaseFeature('ada', A), { ...LEFT, programs: 1 });
    assert.equal(await exam.countFeatureSlots(license), 1);
    assert.deepEqual(await exam.releaseFeature('ada', B), FREED);
    assert.equal(await exam.countFeatureSlots(license), 0);
    await exam.registerFeature('ada', A);
    assert.deepEqual(await exam.unregister('ada', A), { ...LEFT, programs: 1 });
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.equal((await exam.listEventsOf('feature_returned', license.id)).length, 2);
  },

  'a borrowed feature is left, and stays borrowed': async (exam: ExamStore) => {
    const license = await install(exam);
    await exam.borrow('ada', plus(NOW, 2 * HOUR_MS), A);
    await exam.registerFeature('ada', { ...A, until: plus(NOW, HOUR_MS) });
    assert.deepEqual(await exam.releaseFeature('ada', A), { ...LEFT, programs: 0 });
    assert.equal(await exam.countFeatureSlots(license), 1);
    assert.deepEqual(await exam.releaseFeature('ada'), { kind: 'done', count: 1 });
  },

  'of users who become one, all programs are': async (exam: ExamStore) => {
    await exam.install();
    await exam.register('Ada', A);
    await exam.register('ada', B);
    await exam.restartWith({ ignoresCase: true });
    assert.deepEqual(await exam.unregister('ADA', A), { ...LEFT, programs: 1 });
    assert.deepEqual(await exam.unregister('ada', B), FREED);
  },

  'one leaves the license of a pool that it has joined': async (exam: ExamStore) => {
    const old = await exam.install({ slots: 1 });
    const young = await exam.install({ id: 2 as typeof old.id, slots: 1 });
    await exam.register('ada', { ...A, licenseId: old.id });
    await exam.register('ada', { ...B, licenseId: young.id });
    assert.deepEqual(await exam.unregister('ada', { product: 'cad', ...A }), FREED);
    assert.deepEqual([await exam.countInUse(old), await exam.countInUse(young)], [0, 1]);
  },
};

export function programRestartCases(how: 'restart' | 'crash') {
  return {
    'are the same as before': async (exam: ExamStore) => {
      await exam.install({ slots: 1 });
      for (const program of [A, B, C]) await exam.register('ada', program);
      await exam.unregister('ada', B);
      const before = await exam.findSlot('ada');
      await exam[how]();
      assert.equal((await exam.findSlot('ada'))?.programs, before?.programs);
      assert.deepEqual(await exam.unregister('ada', A), { ...LEFT, programs: 1 });
      assert.deepEqual(await exam.unregister('ada', C), FREED);
    },
  };
}
