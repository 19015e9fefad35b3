import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, from, NOW, registerFeature } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, refusedOf, users } from './exam-store.ts';
import { installPool } from './pools.ts';
import { cadRules, group, limitGroup, reserve, setRules, slotRules } from './rule-sets.ts';

/** Registers one after the other, and returns the codes. */
async function ask(exam: ExamStore, ...names: readonly string[]): Promise<readonly string[]> {
  const codes: string[] = [];
  for (const name of names) codes.push(codeOf(await exam.register(name, { product: 'cad' })));
  return codes;
}

const FULL = 'floating_not_available';
const TIMEOUT_MS = 10 * MINUTE_MS;

/** Slots that are reserved. `cadRules` says who is in which group. */
export const RESERVED = {
  'a member gets what is reserved, and others are refused with the reason': async (exam: ExamStore) => {
    const license = await exam.install({ slots: 3 });
    await setRules(exam, cadRules({ reserve: [reserve(2, 'a')] }));
    assert.deepEqual(await ask(exam, 'x1'), ['granted']);
    const { code, message, details } = refusedOf(await exam.register('x2'));
    assert.equal(code, FULL);
    assert.match(
      message,
      /^2 of 3 slots of "cad" are free, but reserved for a\. .*\(rule: reserve 2 for a\)\.$/,
    );
    assert.deepEqual(details, { rule: 'reserve 2 for a', reservedFor: ['a'], free: 2 });
    assert.deepEqual(await ask(exam, 'a1', 'a2', 'a3'), ['granted', 'granted', FULL]);
    const [denied] = await exam.listEventsOf('slot_denied', license.id);
    assert.equal(denied?.rule, 'reserve 2 for a');
    await exam.unregister('a1');
    assert.deepEqual(await ask(exam, 'x2', 'a1'), [FULL, 'granted'], 'it is reserved again');
  },

  'a holder in two groups fills one reservation': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    await setRules(exam, cadRules({ reserve: [reserve(1, 'a'), reserve(1, 'b')] }));
    assert.deepEqual(await ask(exam, 'ab', 'x', 'b1'), ['granted', FULL, 'granted']);
    await exam.unregister('b1');
    const { details } = refusedOf(await exam.register('x'));
    assert.equal(details.free, 1);
    assert.deepEqual(await ask(exam, 'a1'), ['granted'], 'whichever of the two it is');
  },

  'reservations add up, also those of groups in groups': async (exam: ExamStore) => {
    await exam.install({ slots: 5 });
    await setRules(exam, cadRules({ reserve: [reserve(2, 'a'), reserve(2, 'staff')] }));
    assert.deepEqual(await ask(exam, 'x1', 'x2'), ['granted', FULL]);
    assert.deepEqual(await ask(exam, 'b1', 'b2', 'b3'), ['granted', 'granted', FULL]);
    assert.deepEqual(await ask(exam, 'a1', 'a2', 'a3'), ['granted', 'granted', FULL]);
  },

  'rules are for all licenses of a product together': async (exam: ExamStore) => {
    const [older, newer] = await installPool(exam, { slots: 2 }, { slots: 1 });
    await setRules(exam, cadRules({ reserve: [reserve(2, 'a')] }));
    assert.deepEqual(await ask(exam, 'x1', 'x2'), ['granted', FULL]);
    assert.equal(grantedOf(await exam.register('a1')).license.id, older?.id);
    assert.deepEqual(await ask(exam, 'x2'), [FULL]);
    const named = { licenseId: (newer as License).id };
    assert.deepEqual(refusedOf(await exam.register('a2', named)).details.slots, 1, 'its slots alone');
    assert.equal(codeOf(await exam.register('x2', { licenseId: (older as License).id })), FULL);
    assert.deepEqual(await ask(exam, 'a2'), ['granted']);
  },

  'a license that cannot be used counts for nothing': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, { slots: 2 }, { slots: 2 })) as [License, License];
    await exam.register('a1', { licenseId: newer.id });
    await setRules(exam, cadRules({ reserve: [reserve(1, 'a')] }));
    const change = (facts: Partial<License>) =>
      exam.execute({ kind: 'install_license', license: { ...newer, ...facts }, by: 'admin' });
    await change({ validUntil: plus(NOW, -1), allowGracePeriod: false });
    assert.deepEqual(
      await ask(exam, 'x1', 'x2'),
      ['granted', FULL],
      'the one on the other license fills nothing',
    );
    await change({ enabled: false });
    assert.deepEqual(await ask(exam, 'x2', 'a2'), [FULL, 'granted']);
    await exam.unregister('a2', { licenseId: older.id });
    await change({});
    assert.deepEqual(await ask(exam, 'x2', 'x3'), ['granted', 'granted']);
    assert.deepEqual(await ask(exam, 'x4'), [FULL], 'the last one is reserved');
  },

  'a rule outside its time is as if it were not there': async (exam: ExamStore) => {
    await exam.install({ slots: 1, timeoutMinutes: 60 * 24 });
    const noon = { days: [2], from: 12 * 60, to: 13 * 60, zone: 'UTC' };
    const rules = { reserve: [reserve(1, 'a', 'noon')], limit: [limitGroup(0, 'b', 'noon')] };
    await setRules(exam, cadRules(rules, { times: { noon } }));
    assert.deepEqual(await ask(exam, 'x', 'b1'), [FULL, FULL]);
    exam.clock.advance(HOUR_MS - 1);
    assert.deepEqual(await ask(exam, 'x', 'b1'), [FULL, FULL]);
    exam.clock.advance(1);
    assert.deepEqual(await ask(exam, 'b1'), ['granted']);
    await exam.unregister('b1');
    assert.deepEqual(await ask(exam, 'x'), ['granted']);
    assert.deepEqual(refusedOf(await exam.register('a1')).details.rule, undefined, 'simply full');
  },

  'a feature is reserved on each license, and limited on all together': async (exam: ExamStore) => {
    const features = [exampleFeature('render')];
    await installPool(exam, { slots: 9, features }, { slots: 9, features });
    const on = (user: string, id: number) => ({ user, aim: { product: 'cad', licenseId: licenseId(id) } });
    const holders = [
      on('a1', 1),
      on('a2', 2),
      on('x1', 1),
      on('x2', 1),
      on('x3', 2),
      on('b1', 1),
      on('b2', 2),
    ];
    for (const { user, aim } of holders) grantedOf(await exam.register(user, aim));
    const rules = slotRules({ reserve: [reserve(1, 'a')], limit: [limitGroup(1, 'b')] });
    await setRules(exam, cadRules({ features: { render: rules } }));
    const take = async ({ user, aim }: ReturnType<typeof on>) =>
      codeOf(await exam.execute(registerFeature(user, aim)));
    assert.equal(await take(on('b1', 1)), 'measured');
    assert.equal(await take(on('b2', 2)), FULL, 'the limit is for both licenses');
    assert.equal(await take(on('x1', 1)), FULL, 'one is left, and reserved');
    assert.equal(await take(on('x3', 2)), 'measured');
    assert.equal(await take(on('a1', 1)), 'measured');
    assert.equal(await take(on('a1', 1)), 'measured', 'renewed');
    assert.equal(await take(on('a2', 2)), 'measured');
    await exam.unregister('b1', { licenseId: licenseId(1) });
    assert.equal(await take(on('x2', 1)), 'measured', 'a member holds one there');
  },

  'ended slots fill nothing, also beyond what one command collects': async (exam: ExamStore) => {
    const [older] = (await installPool(exam, { slots: 1500 }, { slots: 1 })) as [License];
    await setRules(exam, cadRules({ reserve: [reserve(1500, 'a')], limit: [limitGroup(1500, 'staff')] }));
    const all = users(1500, 'a');
    await Promise.all(all.map((user) => exam.register(user, { licenseId: older.id })));
    assert.deepEqual(await ask(exam, 'x1'), ['granted'], 'the 1501st');
    exam.clock.advance(TIMEOUT_MS);
    const named = { licenseId: licenseId(2) };
    assert.deepEqual(codeOf(await exam.register('x2', named)), 'granted', 'on the license that was full');
    assert.deepEqual(await ask(exam, 'x3'), [FULL], '1500 are reserved');
    assert.deepEqual(await ask(exam, 'a-9999'), ['granted']);
  },

  'any name may be that of a product, a feature, a group or a time': async (exam: ExamStore) => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
    const named = <T>(value: T) => Object.fromEntries(names.map((name) => [name, value]));
    for (const [index, product] of names.entries()) {
      await exam.install({ id: licenseId(index + 1), product, slots: 2 });
    }
    for (const product of names) assert.equal(codeOf(await exam.register('x', { product })), 'granted');
    const { cad } = cadRules({ reserve: names.map((name) => reserve(1, name, name)) }).products;
    const rules = {
      ...cadRules({}),
      groups: named(group({ users: ['a*'] })),
      times: named({ days: [0, 1, 2, 3, 4, 5, 6], from: 0, to: 0, zone: 'UTC' }),
      products: named(cad as NonNullable<typeof cad>),
    };
    await setRules(exam, rules);
    for (const product of names) {
      assert.equal(codeOf(await exam.register('y', { product })), FULL);
      assert.equal(codeOf(await exam.register('a1', { product })), 'granted');
    }
    await setRules(exam, cadRules({}));
    for (const product of names) assert.equal(codeOf(await exam.register('x', { product })), 'granted');
  },

  'who moves to another license is judged as if the old slot were returned': async (exam: ExamStore) => {
    const [, newer] = await installPool(exam, { slots: 1 }, { slots: 1, canBorrow: false });
    await setRules(exam, cadRules({ reserve: [reserve(1, 'a')], limit: [limitGroup(1, 'a')] }));
    assert.equal(grantedOf(await exam.register('a1')).license.id, newer?.id);
    assert.equal(codeOf(await exam.borrow('a2', 'longest')), FULL, 'the limit');
    assert.notEqual(grantedOf(await exam.borrow('a1', 'longest')).license.id, newer?.id);
    assert.deepEqual(await exam.listUsers(), ['a1'], 'one slot');
    assert.deepEqual(await ask(exam, 'x1', 'x2'), ['granted', FULL]);
  },

  'who is allowed only by their group gets a slot': async (exam: ExamStore) => {
    await exam.install({ slots: 9 });
    await setRules(exam, cadRules({ allow: ['lab'] }));
    const host = { hostname: 'LAB-1', address: null, info: null };
    assert.equal(codeOf(await exam.register('x', {}, host)), 'granted');
    assert.equal(codeOf(await exam.register('y', from('10.9.8.7'))), 'granted');
    assert.equal(codeOf(await exam.register('z', from('10.8.8.7'))), 'blacklisted');
  },
};
