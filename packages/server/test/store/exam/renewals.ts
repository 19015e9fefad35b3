import assert from 'node:assert/strict';
import { MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, refusedOf, users } from './exam-store.ts';

const HALF_MS = 5 * MINUTE_MS;
const minutes = (count: number) => plus(NOW, count * MINUTE_MS);

/** Asks for a slot of a full license; returns when one will be free. */
async function nextFreeAt(exam: ExamStore): Promise<unknown> {
  const { code, details } = refusedOf(await exam.register('one-more'));
  assert.equal(code, 'floating_not_available');
  return (details as { nextFreeAt?: unknown }).nextFreeAt;
}

async function listUntidy(exam: ExamStore): Promise<readonly number[]> {
  return exam.store.read({ kind: 'list_untidy' });
}

/** Slots that were renewed end at their new end, which may be later or earlier than the first. */
export const RENEWALS = {
  'a renewed slot is held beyond its first end, and free at its new one': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('ada');
    exam.clock.advance(HALF_MS);
    await exam.register('ada');
    exam.clock.advance(HALF_MS);
    assert.deepEqual([await exam.countInUse(license), await listUntidy(exam)], [1, []]);
    assert.equal(codeOf(await exam.unregister('nobody')), 'device_not_found');
    assert.deepEqual(await nextFreeAt(exam), minutes(15));
    assert.equal(codeOf(await exam.register('ada')), 'granted');
    exam.clock.advance(2 * HALF_MS - 1);
    assert.deepEqual([await nextFreeAt(exam), await exam.listUsers()], [minutes(20), ['ada']]);
    exam.clock.advance(1);
    assert.deepEqual([await exam.countInUse(license), await listUntidy(exam)], [0, [license.id]]);
    assert.equal(grantedOf(await exam.register('bob')).inUse, 1);
  },

  'the next end is the first one, in whatever order slots are renewed': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    const free: unknown[] = [];
    for (const user of ['ada', 'bob', 'eve', 'ada', 'eve', 'bob', 'bob', 'eve', 'ada']) {
      await exam.register(user);
      exam.clock.advance(MINUTE_MS);
      if ((await exam.listUsers()).length === 3) free.push(await nextFreeAt(exam));
    }
    assert.deepEqual(free, [10, 11, 11, 13, 13, 13, 16].map(minutes));
    await exam.release('bob');
    await exam.register('bob');
    assert.deepEqual(await nextFreeAt(exam), minutes(17));
  },

  'a renewed slot that ends early is free at once': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 2 });
    await exam.register('ada');
    await exam.register('bob');
    exam.clock.advance(MINUTE_MS);
    await exam.register('ada');
    await exam.install({ slots: 2, timeoutMinutes: 2 });
    await exam.register('ada');
    assert.deepEqual(await nextFreeAt(exam), minutes(3));
    exam.clock.advance(2 * MINUTE_MS);
    assert.deepEqual([await exam.listUsers(), await exam.countInUse(license)], [['bob'], 1]);
    assert.equal(codeOf(await exam.register('eve')), 'granted');
    await exam.register('bob');
    await exam.install({ slots: 2, validUntil: minutes(4) });
    exam.clock.advance(MINUTE_MS);
    assert.deepEqual([await exam.listUsers(), await listUntidy(exam)], [[], [license.id]]);
  },

  'thousands that were renewed are due at once, and end at once': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1050 });
    const registerAll = (names: readonly string[]) => Promise.all(names.map((user) => exam.register(user)));
    await registerAll(users(1050));
    exam.clock.advance(HALF_MS);
    await registerAll(users(1049));
    exam.clock.advance(HALF_MS);
    assert.equal(await exam.countInUse(license), 1049);
    assert.equal(grantedOf(await exam.register('new')).inUse, 1050);
    assert.deepEqual(await nextFreeAt(exam), minutes(15));
    exam.clock.advance(HALF_MS);
    assert.equal(await exam.countInUse(license), 1);
    assert.equal(grantedOf(await exam.register('user-1040')).inUse, 2);
    assert.equal(grantedOf(await exam.register('user-0001')).inUse, 3);
    assert.equal((await exam.listEventsOf('slot_expired', license.id)).length, 1050);
  },
};

/** The same for a store that was closed and for one that crashed. */
export function renewalRestartCases(again: 'restart' | 'crash') {
  return {
    'a renewed slot gets a whole timeout, and no more': async (exam: ExamStore) => {
      const license = await exam.install({ slots: 1 });
      await exam.register('ada');
      exam.clock.advance(HALF_MS);
      await exam.register('ada');
      await exam[again](() => exam.clock.advance(MINUTE_MS));
      exam.clock.advance(2 * HALF_MS - 1);
      assert.deepEqual([await nextFreeAt(exam), await listUntidy(exam)], [minutes(16), []]);
      exam.clock.advance(1);
      assert.equal(await exam.countInUse(license), 0);
      assert.equal(codeOf(await exam.register('bob')), 'granted');
    },

    'a renewed slot is still held after its first end, and one that ended early is not': async (
      exam: ExamStore,
    ) => {
      const license = await exam.install({ slots: 3 });
      for (const user of ['ada', 'bob', 'eve']) await exam.register(user);
      exam.clock.advance(HALF_MS);
      for (const user of ['ada', 'bob', 'eve']) await exam.register(user);
      await exam.release('bob');
      await exam.register('bob');
      await exam.release('eve');
      exam.clock.advance(HALF_MS + MINUTE_MS);
      await exam.register('joe');
      await exam[again]();
      assert.deepEqual(await exam.listUsers(), ['ada', 'bob', 'joe']);
      assert.equal(await exam.countInUse(license), 3);
      assert.equal(refusedOf(await exam.register('eve')).code, 'floating_not_available');
      exam.clock.advance(2 * HALF_MS);
      assert.deepEqual(await exam.listUsers(), []);
    },

    'a renewed slot that had ended stays ended': async (exam: ExamStore) => {
      await exam.install({ slots: 1 });
      await exam.register('ada');
      exam.clock.advance(HALF_MS);
      await exam.register('ada');
      exam.clock.advance(2 * HALF_MS - 1);
      await exam.now();
      exam.clock.advance(1);
      await exam.now();
      await exam[again]();
      assert.deepEqual(await exam.listUsers(), []);
      assert.equal(codeOf(await exam.register('bob')), 'granted');
    },
  };
}
