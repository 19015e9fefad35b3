import assert from 'node:assert/strict';
import { licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, register, registerFeature } from '../../core/examples.ts';
import { codeOf, type ExamStore } from './exam-store.ts';
import { installPool } from './pools.ts';
import { cadRules, reserve, setRules, slotRules } from './rule-sets.ts';
import { STAY } from './waiting.ts';

export const WAITING_FOR_FEATURES = {
  'a feature has a line of its own': async (exam: ExamStore) => {
    const feature = exampleFeature('render');
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    await exam.install({ slots: 5, features: [{ ...feature, floating }] });
    for (const user of ['ada', 'bob', 'cem']) await exam.register(user);
    const take = (user: string) => exam.execute({ ...registerFeature(user), wait: STAY });
    assert.equal(codeOf(await take('ada')), 'measured');
    assert.equal(codeOf(await take('bob')), 'waiting');
    assert.equal(codeOf(await take('cem')), 'waiting');
    assert.equal(codeOf(await take('dan')), 'device_not_found');
    await exam.releaseFeature('ada');
    assert.equal(codeOf(await take('cem')), 'waiting');
    await exam.unregister('bob');
    assert.equal(codeOf(await take('cem')), 'measured');
  },

  'a slot that is returned is handed on before its feature, whoever came first': async (exam: ExamStore) => {
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    const features = [{ ...exampleFeature('render'), floating }];
    const license = await exam.install({ slots: 3, features });
    for (const user of ['holder', 'ada', 'bob']) await exam.register(user);
    await exam.registerFeature('holder');
    for (const user of ['ada', 'bob']) {
      assert.equal(codeOf(await exam.execute({ ...registerFeature(user), wait: STAY })), 'waiting');
    }
    await exam.unregister('ada');
    await exam.register('cem');
    assert.equal(codeOf(await exam.execute(register('ada', { wait: STAY }))), 'waiting');
    await exam.unregister('holder');
    assert.equal((await exam.listEventsOf('slot_lent', license.id)).at(-1)?.user, 'ada');
    const lent = await exam.listEventsOf('feature_lent', license.id);
    assert.deepEqual(
      lent.map(({ user }) => user),
      ['holder', 'ada'],
      'who came first has the slot that it needs',
    );
  },

  'who gets to another license gets the feature that is free there': async (exam: ExamStore) => {
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    const features = [{ ...exampleFeature('render'), floating }];
    await installPool(exam, { slots: 2, features }, { slots: 2, features });
    const on = (id: number) => ({ product: null, licenseId: licenseId(id) });
    for (const user of ['holder', 'ada']) await exam.register(user, on(1));
    await exam.registerFeature('holder', on(1));
    assert.equal(codeOf(await exam.execute({ ...registerFeature('ada'), wait: STAY })), 'waiting');
    await exam.register('ada', on(2));
    assert.equal((await exam.store.listWaiting()).waiting, 0);
  },

  'who gets to a place for which the feature is reserved gets it': async (exam: ExamStore) => {
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    await exam.install({ features: [{ ...exampleFeature('render'), floating }] });
    await setRules(exam, cadRules({ features: { render: slotRules({ reserve: [reserve(1, 'lab')] }) } }));
    await exam.register('ada');
    assert.equal(codeOf(await exam.execute({ ...registerFeature('ada'), wait: STAY })), 'waiting');
    await exam.register('ada', { host: { hostname: 'lab-1', address: null, info: null } });
    assert.equal((await exam.store.listWaiting()).waiting, 0);
  },
};
