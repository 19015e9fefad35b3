import assert from 'node:assert/strict';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import { type ExamStore, grantedOf, refusedOf, users } from './exam-store.ts';

/**
 * Cases with many callers at once. They set no clock, so that stores on the machine's own clock can run them.
 */
export const CONTENTION = {
  'of five hundred users on five slots exactly five get one': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    const outcomes = await Promise.all(users(500).map((user) => exam.register(user)));
    await expectFull(exam, license, outcomes);
  },

  'the same on twenty licenses at once': async (exam: ExamStore) => {
    const licenses: License[] = [];
    for (let n = 1; n <= 20; n++) {
      licenses.push(await exam.install({ id: licenseId(n), product: `product-${n}`, slots: 5 }));
    }
    const asked = users(100).flatMap((user) =>
      licenses.map(({ product, id }) => ({ id, answer: exam.register(user, { product }) })),
    );
    for (const license of licenses) {
      const own = asked.filter(({ id }) => id === license.id);
      await expectFull(exam, license, await Promise.all(own.map(({ answer }) => answer)));
    }
  },

  'and if half of them borrow': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    const ask = (user: string, index: number) =>
      index % 2 === 0 ? exam.register(user) : exam.borrow(user, 'longest');
    await expectFull(exam, license, await Promise.all(users(500).map(ask)));
  },

  'one user who asks a thousand times at once holds one slot': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 5 });
    const outcomes = await Promise.all(users(1000).map(() => exam.register('ada')));
    for (const outcome of outcomes) assert.equal(grantedOf(outcome).inUse, 1);
    assert.equal(await exam.countInUse(license), 1);
    assert.equal((await exam.listEventsOf('slot_lent', license.id)).length, 1);
  },

  'coming and going never exceeds the limit': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 7 });
    const visit = async (user: string) => {
      for (let round = 0; round < 20; round++) {
        const outcome = await exam.register(user);
        if (outcome.kind === 'granted') assert.ok(outcome.inUse <= 7, `${outcome.inUse} in use`);
        if (outcome.kind === 'granted' && round < 19) await exam.unregister(user);
      }
    };
    await Promise.all(users(20).map(visit));
    assert.equal(await exam.countInUse(license), 7);
  },

  'a slot is returned once, however many ask for it': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 1 });
    await exam.register('ada');
    const outcomes = await Promise.all(users(100).map(() => exam.unregister('ada')));
    assert.equal(outcomes.filter(({ kind }) => kind === 'done').length, 1);
    assert.equal((await exam.listEventsOf('slot_returned', license.id)).length, 1);
    assert.equal(await exam.countInUse(license), 0);
  },
};

/** Every slot is taken once; every other user was refused with the facts, and is in the audit log. */
async function expectFull(exam: ExamStore, license: License, outcomes: readonly Outcome[]): Promise<void> {
  const granted = outcomes.filter(({ kind }) => kind === 'granted').map(grantedOf);
  const refused = outcomes.filter(({ kind }) => kind !== 'granted').map(refusedOf);
  assert.equal(granted.length, license.slots);
  assert.deepEqual(granted.map(({ inUse }) => inUse).sort(), [1, 2, 3, 4, 5]);
  const nextFreeAt = Math.min(...granted.map(({ registration }) => registration.endsAt));
  for (const { code, details } of refused) {
    assert.equal(code, 'floating_not_available');
    assert.deepEqual(details, { slots: license.slots, inUse: license.slots, nextFreeAt });
  }
  const lent = await exam.listEventsOf('slot_lent', license.id);
  const denied = await exam.listEventsOf('slot_denied', license.id);
  assert.equal(lent.length, license.slots);
  assert.equal(denied.length, refused.length);
  const names = new Set([...lent, ...denied].map(({ user }) => user));
  assert.equal(names.size, outcomes.length, 'every user has exactly one event');
  assert.equal(await exam.countInUse(license), license.slots);
}
