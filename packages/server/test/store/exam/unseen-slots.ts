import assert from 'node:assert/strict';
import type { Wait } from '../../../src/core/command.ts';
import { SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { licenseId } from '../../../src/core/nouns/license.ts';
import type { Store } from '../../../src/store/store.ts';
import { exampleFeature, register, registerFeature, unregister } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf } from './exam-store.ts';
import { installPool } from './pools.ts';
import { STAY } from './waiting.ts';

/** What a connection sends that waits and is called. */
const CALLED: Wait = { ...STAY, hasWaited: true };

const FIRST = licenseId(1);

const ask = (user: string, wait: Wait = STAY) => register(user, { wait });

const leave = (user: string, feature = '') =>
  ({ kind: 'leave_line', product: 'cad', feature, user }) as const;

async function wait(store: Pick<Store, 'execute'>, ...names: readonly string[]): Promise<void> {
  for (const user of names) assert.equal(codeOf(await store.execute(ask(user))), 'waiting', user);
}

/** Whoever is first in line has the slot, and nobody has heard of it. */
async function lendTo(exam: ExamStore, ...names: readonly string[]): Promise<void> {
  await exam.register('holder');
  await wait(exam, ...names);
  await exam.unregister('holder');
  assert.deepEqual(await exam.listUsers(), [names[0]]);
}

/** Slots that were lent to users in line whose clients are gone before they hear of it. */
export const UNSEEN_SLOTS = {
  'a slot that was lent to somebody who is gone is returned, unless it was used': async (exam: ExamStore) => {
    const license = await exam.install({ id: FIRST, slots: 1 });
    await lendTo(exam, 'ada', 'bob');
    await exam.execute(leave('ada'));
    assert.deepEqual(await exam.listUsers(), ['bob']);
    assert.equal((await exam.listEventsOf('slot_returned', license.id)).length, 2);
    grantedOf(await exam.register('bob'));
    await exam.execute(leave('bob'));
    assert.deepEqual(await exam.listUsers(), ['bob'], 'another program of bob has it');
  },

  'a slot whose answer reached nobody is returned': async (exam: ExamStore) => {
    await exam.install({ id: FIRST, slots: 1 });
    await lendTo(exam, 'ada', 'bob');
    grantedOf(await exam.execute(ask('ada', CALLED)));
    await exam.execute({ ...leave('ada'), unseen: FIRST });
    assert.deepEqual(await exam.listUsers(), ['bob']);
    await exam.execute({ ...leave('ada'), unseen: FIRST });
    assert.deepEqual(await exam.listUsers(), ['bob'], 'only once');
  },

  'what any other request was answered with stays lent, in the same millisecond, too': async (
    exam: ExamStore,
  ) => {
    await exam.install({ id: FIRST, slots: 1 });
    const orders = [
      [CALLED, undefined],
      [undefined, CALLED],
      [CALLED, STAY],
    ];
    for (const order of orders) {
      await lendTo(exam, 'ada', 'bob');
      for (const one of order) grantedOf(await exam.execute(register('ada', one && { wait: one })));
      await exam.execute({ ...leave('ada'), unseen: FIRST });
      assert.deepEqual(await exam.listUsers(), ['ada']);
      for (const user of ['ada', 'bob']) await exam.unregister(user);
      await exam.execute(leave('bob'));
      exam.clock.advance(12 * SECOND_MS);
    }
  },

  'a slot is returned while its user waits for another license': async (exam: ExamStore) => {
    await installPool(exam, { slots: 1 }, { slots: 1 });
    const on = (id: number) => ({ product: null, licenseId: licenseId(id) });
    for (const id of [1, 2]) await exam.register(`on-${id}`, on(id));
    for (const id of [2, 1]) await exam.execute(register('ada', { ...on(id), wait: STAY }));
    await exam.unregister('on-1');
    const called = (id: number) => exam.execute(register('ada', { ...on(id), wait: CALLED }));
    assert.equal(codeOf(await called(2)), 'waiting');
    assert.equal(codeOf(await called(1)), 'granted');
    await exam.execute({ ...leave('ada'), unseen: FIRST });
    assert.deepEqual(await exam.listUsers(), ['on-2']);
    await exam.unregister('on-2');
    assert.deepEqual(await exam.listUsers(), ['ada'], 'she still waits for the other');
  },

  'a feature whose answer reached nobody is returned, and nothing else': async (exam: ExamStore) => {
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    const features = [{ ...exampleFeature('render'), floating }];
    const license = await exam.install({ id: FIRST, slots: 2, features });
    for (const user of ['ada', 'bob']) await exam.register(user);
    await exam.registerFeature('bob');
    const take = (one: Wait) => exam.execute({ ...registerFeature('ada'), wait: one });
    assert.equal(codeOf(await take(STAY)), 'waiting');
    await exam.releaseFeature('bob');
    assert.equal(codeOf(await take(CALLED)), 'measured');
    await exam.execute({ ...leave('ada', 'render'), unseen: FIRST });
    assert.equal(await exam.countFeatureSlots(license), 0);
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'bob']);
  },

  'a slot that nobody fetches until their place is gone is handed on': async (exam: ExamStore) => {
    await exam.install({ id: FIRST, slots: 1 });
    await lendTo(exam, 'ada');
    exam.clock.advance(30 * SECOND_MS);
    assert.equal(codeOf(await exam.register('eve')), 'floating_not_available', 'she may still come');
    exam.clock.advance(12 * SECOND_MS);
    assert.equal(codeOf(await exam.register('eve')), 'granted');
  },
};

/** The same with connections on two servers. */
export const UNSEEN_SLOTS_ON_TWO = {
  'what either of two servers has answered stays lent, whichever comes first': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    for (const store of [exam.store, other]) await store.keepClock();
    await exam.install({ id: FIRST, slots: 1 });
    for (const order of [
      [exam.store, other],
      [other, exam.store],
    ]) {
      await exam.register('holder');
      for (const store of [exam.store, other]) await wait(store, 'ada');
      await exam.unregister('holder');
      for (const store of order) grantedOf(await store.execute(ask('ada', CALLED)));
      await exam.store.execute({ ...leave('ada'), unseen: FIRST });
      assert.deepEqual(await exam.listUsers(), ['ada'], 'the other was answered');
      await other.execute({ ...leave('ada'), unseen: FIRST });
      assert.deepEqual(await exam.listUsers(), [], 'both are gone');
    }
  },

  'a slot is kept for who still waits on another server': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    for (const store of [exam.store, other]) await store.keepClock();
    await exam.install({ id: FIRST, slots: 1 });
    await exam.register('holder');
    for (const store of [exam.store, other]) await wait(store, 'ada');
    await wait(exam, 'bob');
    await exam.unregister('holder');
    grantedOf(await exam.execute(ask('ada', CALLED)));
    await exam.execute({ ...leave('ada'), unseen: FIRST });
    assert.deepEqual(await exam.listUsers(), ['ada']);
    await other.execute(leave('ada'));
    assert.deepEqual(await exam.listUsers(), ['bob'], 'who waited on the other is gone, too');
  },

  'what was lent to those who wait on a server that died is handed on': async (exam: ExamStore) => {
    const other = await exam.openBeside();
    for (const store of [exam.store, other]) await store.keepClock();
    await exam.install({ id: FIRST, slots: 2 });
    for (const user of ['one', 'two']) await exam.register(user);
    await wait(other, 'ada', 'bob');
    await wait(exam, 'cem');
    for (const user of ['one', 'two']) await exam.unregister(user);
    grantedOf(await other.execute(ask('bob', CALLED)));
    exam.clock.advance(2 * SECOND_MS);
    await exam.store.keepClock();
    await exam.execute({ kind: 'hand_on', product: 'cad' });
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'bob'], 'it may be alive');
    exam.clock.advance(1.5 * SECOND_MS);
    await exam.store.keepClock();
    await exam.execute({ kind: 'hand_on', product: 'cad' });
    assert.deepEqual([...(await exam.listUsers())].sort(), ['bob', 'cem'], 'bob was answered');
    // It was only slow.
    for (const store of [other, exam.store]) await store.keepClock();
    assert.equal(codeOf(await other.execute(ask('ada', CALLED))), 'waiting');
    await exam.execute(unregister('cem'));
    assert.deepEqual([...(await exam.listUsers())].sort(), ['ada', 'bob'], 'she had not lost her place');
  },
};
