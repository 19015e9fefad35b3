import assert from 'node:assert/strict';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { exampleFeature, from, NOW, registerFeature } from '../../core/examples.ts';
import { codeOf, type ExamStore, grantedOf, refusedOf } from './exam-store.ts';
import { installPool } from './pools.ts';
import { cadRules, limitEach, limitGroup, reserve, setRules, slotRules } from './rule-sets.ts';

const FULL = 'floating_not_available';

/** Where somebody asks from. */
export function at(hostname: string | null, address?: string) {
  const host = { hostname, address: null, info: null };
  return { product: 'cad', host, ...(address === undefined ? {} : from(address)) };
}

type Place = ReturnType<typeof at>;

export async function ask(exam: ExamStore, name: string, place: Place = at(null)): Promise<string> {
  return codeOf(await exam.register(name, place));
}

const BORROW = { allow: null, hours: null, keep: 0, perAddress: null, during: null, line: 1 };

/** Limits, and what the rules say of borrowing. */
export const LIMITED = {
  'a group holds no more than its limit, and renews what it holds': async (exam: ExamStore) => {
    await exam.install({ slots: 9 });
    await setRules(exam, cadRules({ limit: [limitGroup(2, 'staff'), limitGroup(1, 'b')] }));
    assert.equal(await ask(exam, 'b1'), 'granted');
    const { code, message, details } = refusedOf(await exam.register('b2'));
    assert.deepEqual([code, details], [FULL, { rule: 'limit 1 for b', limit: 1, inUse: 1 }]);
    assert.match(message, /^b holds 1 slots? of "cad", and may hold 1 at most\. /);
    assert.equal(await ask(exam, 'a1'), 'granted');
    assert.equal(refusedOf(await exam.register('a2')).details.rule, 'limit 2 for staff');
    await setRules(exam, cadRules({ limit: [limitGroup(0, 'staff')] }));
    for (const name of ['a1', 'b1']) assert.equal(await ask(exam, name), 'granted', 'no limit takes a slot');
    assert.equal(await ask(exam, 'a2'), FULL);
    assert.equal(await ask(exam, 'x1'), 'granted', 'not in the group');
  },

  'each host and each address holds no more than the limit': async (exam: ExamStore) => {
    await installPool(exam, { slots: 5 }, { slots: 1 });
    await setRules(exam, cadRules({ limit: [limitEach(2, 'host'), limitEach(3, 'address')] }));
    assert.equal(await ask(exam, 'u1', at('H', '10.0.0.1')), 'granted');
    assert.equal(await ask(exam, 'u2', at('h', '10.0.0.1')), 'granted', 'on the other license');
    assert.equal(await ask(exam, 'u3', at('h', '10.0.0.2')), FULL, 'two of one host');
    assert.equal(await ask(exam, 'u1', at('H', '10.0.0.1')), 'granted', 'renewed');
    assert.equal(await ask(exam, 'u3', at('g', '10.0.0.1')), 'granted');
    const { details } = refusedOf(await exam.register('u4', at(null, '10.0.0.1')));
    assert.deepEqual(details, { rule: 'limit 3 for each address', limit: 3, inUse: 3 });
    await exam.unregister('u2');
    assert.equal(await ask(exam, 'u4', at('h', '10.0.0.1')), 'granted');
  },

  'without a host name the address is the host': async (exam: ExamStore) => {
    await exam.install({ slots: 9 });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host'), limitEach(2, 'address')] }));
    assert.equal(await ask(exam, 'u1', at(null, '2001:db8::1')), 'granted');
    assert.equal(await ask(exam, 'u2', at(null, '2001:db8::1')), FULL);
    assert.equal(await ask(exam, 'u2', at(null, '2001:db8::2')), 'granted');
    assert.equal(await ask(exam, 'u3', at('h', '2001:db8::3')), FULL, 'one network is one address');
    await exam.unregister('u1');
    assert.equal(await ask(exam, 'u3', at(null, '2001:db8::1')), 'granted');
  },

  'who may borrow, for how long, and how many are kept': async (exam: ExamStore) => {
    await installPool(exam, { slots: 2 }, { slots: 1 });
    const rules = { borrow: { ...BORROW, allow: ['a', 'b'], hours: 3, keep: 1 } };
    await setRules(exam, cadRules(rules));
    const until = plus(NOW, HOUR_MS);
    const { code, details } = refusedOf(await exam.borrow('x', until));
    assert.deepEqual([code, details], ['license_borrow_not_allowed', { rule: 'borrow allow a, b' }]);
    const late = refusedOf(await exam.borrow('a1', plus(NOW, 4 * HOUR_MS)));
    const latest = { rule: 'borrow hours 3', latestUntil: plus(NOW, 3 * HOUR_MS) };
    assert.deepEqual([late.code, late.details], ['borrow_until_not_valid', latest]);
    assert.equal(
      grantedOf(await exam.borrow('a1', 'longest')).registration.borrowedUntil,
      late.details.latestUntil,
    );
    assert.equal(codeOf(await exam.borrow('b1', until)), 'granted');
    const kept = refusedOf(await exam.borrow('a2', until));
    assert.deepEqual(
      [kept.code, kept.details],
      [FULL, { rule: 'borrow keep 1', slots: 3, borrowed: 2, keep: 1 }],
    );
    assert.equal(codeOf(await exam.borrow('a1', until)), 'granted', 'another date needs no further slot');
    assert.equal(await ask(exam, 'a2'), 'granted', 'kept for those who stay');
    assert.equal(codeOf(await exam.borrow('a2', until)), FULL);
    exam.clock.advance(HOUR_MS);
    assert.equal(codeOf(await exam.borrow('a2', plus(NOW, 2 * HOUR_MS))), 'granted');
  },

  'an address borrows no more than the limit, on all licenses': async (exam: ExamStore) => {
    await installPool(exam, { slots: 2 }, { slots: 1 });
    await setRules(exam, cadRules({ borrow: { ...BORROW, perAddress: 1 } }));
    const here = { ...at('h', '10.0.0.1') };
    assert.equal(codeOf(await exam.borrow('u1', 'longest', here)), 'granted');
    assert.equal(codeOf(await exam.borrow('u2', 'longest', here)), 'address_limit_reached');
    assert.equal(codeOf(await exam.borrow('u2', 'longest', at('h', '10.0.0.2'))), 'granted');
    assert.equal(codeOf(await exam.borrow('u1', 'longest', here)), 'granted', 'again');
  },

  'a borrow on another license counts unless it is given back': async (exam: ExamStore) => {
    const [older, newer] = (await installPool(exam, { slots: 2 }, { slots: 2 })) as [License, License];
    await setRules(exam, cadRules({ borrow: { ...BORROW, keep: 3 } }));
    assert.equal(codeOf(await exam.register('u', { licenseId: newer.id })), 'granted');
    assert.equal(codeOf(await exam.borrow('u', 'longest', { licenseId: older.id })), 'granted');
    assert.equal(codeOf(await exam.borrow('u', 'longest')), 'granted', 'the borrowed one, for another time');
    const slots = await exam.listSlots();
    assert.equal(slots.filter(({ borrowedUntil }) => borrowedUntil !== null).length, 1, 'three are kept');
  },
};

/** Heartbeats from elsewhere. */
export const FOLLOWED = {
  'a slot is counted where its holder is, if it could be lent there': async (exam: ExamStore) => {
    await exam.install({ slots: 9 });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host')] }));
    assert.equal(await ask(exam, 'u1', at('h1')), 'granted');
    assert.equal(await ask(exam, 'u2', at('h2')), 'granted');
    assert.equal(await ask(exam, 'u1', at('h2')), 'granted', 'but it is counted at the first host');
    assert.equal((await exam.findSlot('u1'))?.host.hostname, 'h2');
    assert.equal(await ask(exam, 'u3', at('h1')), FULL);
    await exam.unregister('u2');
    assert.equal(await ask(exam, 'u3', at('h2')), 'granted', 'nobody is counted there');
    await exam.unregister('u3');
    assert.equal(await ask(exam, 'u1', at('h2')), 'granted', 'now it is counted there');
    assert.equal(await ask(exam, 'u3', at('h1')), 'granted');
    assert.equal(await ask(exam, 'u4', at('h2')), FULL);
    await exam.unregister('u1');
    assert.equal(await ask(exam, 'u4', at('h2')), 'granted');
  },

  'what has ended is no obstacle there': async (exam: ExamStore) => {
    await exam.install({ slots: 9 });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host')] }));
    assert.equal(await ask(exam, 'u1', at('h1')), 'granted');
    assert.equal(await ask(exam, 'u2', at('h2')), 'granted');
    exam.clock.advance(5 * MINUTE_MS);
    assert.equal(await ask(exam, 'u1', at('h1')), 'granted');
    exam.clock.advance(5 * MINUTE_MS);
    assert.equal(await ask(exam, 'u1', at('h2')), 'granted');
    assert.equal(await ask(exam, 'v', at('h1')), 'granted', 'the one who moved is counted at the other host');
  },

  'who leaves a group keeps what is reserved for it, if there is nothing else': async (exam: ExamStore) => {
    await exam.install({ slots: 2 });
    await setRules(exam, cadRules({ reserve: [reserve(1, 'lab')] }));
    assert.equal(await ask(exam, 'u1', at('lab-1')), 'granted');
    assert.equal(await ask(exam, 'x1', at('h')), 'granted');
    assert.equal(await ask(exam, 'u1', at('h')), 'granted', 'it counts as before');
    await exam.unregister('x1');
    assert.equal(await ask(exam, 'x1', at('h')), 'granted', 'the reservation is filled');
    await exam.unregister('x1');
    assert.equal(await ask(exam, 'u1', at('h')), 'granted', 'now it need not fill it');
    assert.equal(await ask(exam, 'x1', at('h')), FULL);
    assert.equal(await ask(exam, 'u2', at('lab-2')), 'granted');
  },

  'the features that are held have to fit as well': async (exam: ExamStore) => {
    const render = exampleFeature('render');
    await exam.install({ slots: 9, features: [render] });
    await setRules(exam, cadRules({ features: { render: slotRules({ limit: [limitEach(1, 'host')] }) } }));
    const aim = { product: 'cad' };
    for (const [name, host] of [
      ['u1', 'h1'],
      ['u2', 'h2'],
    ] as const) {
      assert.equal(await ask(exam, name, at(host)), 'granted');
      assert.equal(codeOf(await exam.execute(registerFeature(name, aim))), 'measured');
    }
    assert.equal(await ask(exam, 'u1', at('h2')), 'granted', 'counted at h1');
    await exam.releaseFeature('u2', aim);
    assert.equal(codeOf(await exam.execute(registerFeature('u2', aim))), 'measured', 'there is room at h2');
    await exam.releaseFeature('u1', aim);
    assert.equal(await ask(exam, 'u1', at('h2')), 'granted', 'without the feature');
    assert.equal(codeOf(await exam.execute(registerFeature('u1', aim))), FULL);
  },

  'one who holds two slots moves only the one that is renewed': async (exam: ExamStore) => {
    await installPool(exam, { slots: 2 }, { slots: 2 });
    await setRules(exam, cadRules({ limit: [limitEach(1, 'host')] }));
    for (const [id, host] of [
      [1, 'h1'],
      [2, 'h2'],
    ] as const) {
      assert.equal(codeOf(await exam.register('u', { ...at(host), licenseId: licenseId(id) })), 'granted');
    }
    assert.equal(await ask(exam, 'u', at('h1')), 'granted', 'the newer one is counted at h2');
    assert.equal(await ask(exam, 'v', at('h2')), FULL);
    exam.clock.advance(10 * MINUTE_MS - 1);
    assert.equal(await ask(exam, 'u', at('h1')), 'granted');
    exam.clock.advance(1);
    assert.equal(await ask(exam, 'u', at('h1')), 'granted', 'the older one has ended');
    assert.equal(await ask(exam, 'v', at('h2')), 'granted');
  },
};
