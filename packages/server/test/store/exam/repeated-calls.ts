import assert from 'node:assert/strict';
import type { Wait } from '../../../src/core/command.ts';
import { SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, from, register, registerFeature } from '../../core/examples.ts';
import { codeOf, type ExamStore } from './exam-store.ts';
import { installPool } from './pools.ts';
import { cadRules, limitEach, limitGroup, reserve, setRules, slotRules } from './rule-sets.ts';
import { STAY } from './waiting.ts';

const REPEAT: Wait = { mode: 'repeat', forMs: 2 * SECOND_MS };

const ask = async (exam: ExamStore, user: string, facts: Parameters<typeof register>[1] = {}) =>
  codeOf(await exam.execute(register(user, { wait: REPEAT, ...facts })));

const FULL = 'floating_not_available';

/** Those who repeat the call (`lending.holdForRetries`) are kept a slot only if they could have it now. */
export const REPEATED_CALLS = {
  'nothing is kept for those whom a limit refuses': async (exam: ExamStore) => {
    await exam.install({ slots: 5 });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'address')] }));
    const names = Array.from({ length: 6 }, (_, index) => `invented-${index}`);
    const answers: unknown[] = [];
    for (const user of names) answers.push(await ask(exam, user, from('192.0.2.1')));
    assert.deepEqual(answers, ['granted', ...Array.from({ length: 5 }, () => FULL)]);
    for (const place of [2, 3, 4, 5])
      assert.equal(await ask(exam, `other-${place}`, from(`192.0.2.${place}`)), 'granted');
  },

  'nothing is kept for those who may not have what is reserved': async (exam: ExamStore) => {
    await exam.install({ slots: 3 });
    await setRules(exam, cadRules({ reserve: [reserve(2, 'a')] }));
    assert.equal(await ask(exam, 'out-1'), 'granted');
    for (const user of ['out-2', 'out-3', 'out-4']) assert.equal(await ask(exam, user), FULL);
    for (const user of ['ada', 'ann']) assert.equal(await ask(exam, user), 'granted');
  },

  'what is kept counts under limits and reservations': async (exam: ExamStore) => {
    await exam.install({ slots: 4 });
    await setRules(exam, cadRules({ limit: [limitGroup(2, 'a')], reserve: [reserve(1, 'b')] }));
    for (const user of ['one', 'ada', 'bob', 'two']) assert.equal(await ask(exam, user), 'granted');
    for (const user of ['ann', 'amy', 'bea', 'cem']) assert.equal(await ask(exam, user), FULL);
    await exam.unregister('one');
    // Kept for ann, and no second one for amy.
    assert.equal(await ask(exam, 'cem'), FULL);
    await exam.unregister('two');
    assert.equal(await ask(exam, 'amy'), FULL, 'ann comes first, and two is the limit');
    assert.equal(await ask(exam, 'cem'), FULL, 'bea comes first');
    await exam.unregister('bob');
    assert.equal(await ask(exam, 'cem'), 'granted', 'the third, because bea takes the one that is reserved');
    for (const user of ['ann', 'bea']) assert.equal(await ask(exam, user), 'granted', user);
  },

  'who waits is not passed over for those who repeat the call in vain': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    await setRules(exam, cadRules({ limit: [limitGroup(1, 'a')] }));
    for (const user of ['ada', 'holder']) await exam.register(user);
    for (const user of ['ann', 'amy']) assert.equal(await ask(exam, user), FULL);
    assert.equal(await ask(exam, 'cem', { wait: STAY }), 'waiting');
    await exam.unregister('holder');
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'cem']);
  },

  'a slot is kept on the license that would lend it': async (exam: ExamStore) => {
    await installPool(exam, { slots: 1 }, { slots: 1 });
    const on = (id: number) => ({ product: null, licenseId: licenseId(id) });
    for (const id of [1, 2]) await exam.register(`on-${id}`, on(id));
    assert.equal(await ask(exam, 'ada', on(1)), FULL);
    for (const id of [1, 2]) await exam.unregister(`on-${id}`, on(id));
    assert.equal(await ask(exam, 'bob', on(1)), FULL);
    assert.equal(await ask(exam, 'cem'), 'granted');
    assert.equal(await ask(exam, 'ada', on(1)), 'granted');
  },

  'features are kept as well, on each license by itself': async (exam: ExamStore) => {
    const floating = { slots: 2, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    await exam.install({ slots: 9, features: [{ ...exampleFeature('render'), floating }] });
    const users = ['ada', 'bob', 'one', 'two', 'three'];
    for (const user of users) await exam.register(user);
    await setRules(exam, cadRules({ features: { render: slotRules({ limit: [limitGroup(1, 'a')] }) } }));
    const take = async (user: string) =>
      codeOf(await exam.execute({ ...registerFeature(user), wait: REPEAT }));
    for (const user of ['one', 'two']) assert.equal(await take(user), 'measured');
    for (const user of ['bob', 'ada']) assert.equal(await take(user), FULL);
    await exam.releaseFeature('one');
    assert.equal(await take('three'), FULL, 'kept for bob');
    await exam.unregister('bob');
    await exam.releaseFeature('two');
    assert.equal(await take('three'), 'measured', 'bob has no slot of the license any more');
    assert.equal(await take('one'), FULL, 'kept for ada');
    assert.equal(await take('ada'), 'measured');
  },
};
