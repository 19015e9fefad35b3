import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRange } from '@berth/protocol/address-range';
import type { Borrow, Register } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { Registration } from '../../../src/core/nouns/registration.ts';
import type { ProductRules, SlotRules } from '../../../src/core/rules/rule-set.ts';
import { group, slotRules } from '../../store/exam/rule-sets.ts';
import {
  borrow,
  exampleFeature,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  exampleView,
  from,
  inForce,
  limitingAddresses,
  NOW,
  readsOf,
  register,
} from '../examples.ts';

const HERE = '192.0.2.7';
const THERE = '192.0.2.8';
const rules = inForce(limitingAddresses(3, 1));
const PLAIN = exampleSlot('ada', { origin: HERE });
const LATER = plus(NOW, HOUR_MS);
const BORROWED = exampleSlot('ada', { origin: HERE, borrowedUntil: LATER, endsAt: LATER });

/** So many slots held from here, and so many of them borrowed. */
function crowd(slots: number, borrows: number): readonly Registration[] {
  return Array.from({ length: slots }, (_, index) => {
    const facts = index < borrows ? { borrowedUntil: LATER, endsAt: LATER } : {};
    return exampleSlot(`user-${index}`, { origin: HERE, ...facts });
  });
}

describe('the limit of an address', () => {
  test('applies only to a user who takes more than they hold', () => {
    const ask = register('ada', from(HERE));
    const askBorrow = borrow('ada', 'longest', from(HERE));
    const here = { countPoolBorrows: [parseRange(HERE)] };
    const held = { readHoldings: [null] };
    const cases: [Register | Borrow, Registration | null, object][] = [
      [ask, null, held],
      [ask, PLAIN, {}],
      [askBorrow, null, { ...held, ...here }],
      [askBorrow, PLAIN, { ...here, listFeatureSlots: [] }],
      [askBorrow, BORROWED, { listFeatureSlots: [] }],
    ];
    for (const [command, slot, reads] of cases) {
      const view = exampleView({ rules, slots: slot === null ? [] : [slot] }, 'ada');
      assert.deepEqual(readsOf(command, view), reads);
    }
    const slotsOnly = exampleView({ rules: inForce(limitingAddresses(3)), slots: [PLAIN] }, 'ada');
    assert.deepEqual(readsOf(askBorrow, slotsOnly), { listFeatureSlots: [] }, 'without a limit for borrows');
  });

  test('refuses more than the limit, and nothing up to it', () => {
    const license = exampleLicense({ slots: 100 });
    const codeOf = (command: Register | Borrow, slots: readonly Registration[]) => {
      const { outcome } = decide(command, exampleView({ license, rules, slots }, 'ada'), NOW);
      return outcome.kind === 'refused' ? outcome.code : outcome.kind;
    };
    const ask = register('ada', from(HERE));
    const askBorrow = borrow('ada', 'longest', from(HERE));
    assert.equal(codeOf(ask, crowd(2, 1)), 'granted');
    assert.equal(codeOf(ask, crowd(3, 0)), 'floating_not_available');
    assert.equal(codeOf(register('ada', from(THERE)), crowd(3, 0)), 'granted');
    assert.equal(codeOf(register('ada'), crowd(3, 0)), 'granted', 'whose address is unknown');
    assert.equal(codeOf(askBorrow, crowd(2, 0)), 'granted');
    assert.equal(codeOf(askBorrow, crowd(2, 1)), 'address_limit_reached');
    assert.equal(codeOf(askBorrow, crowd(3, 0)), 'floating_not_available');
  });

  test('comes before a full license, and is recorded with the rule', () => {
    const license = exampleLicense({ slots: 3 });
    const view = exampleView({ license, rules, slots: crowd(3, 0) }, 'ada');
    const { outcome, events } = decide(register('ada', from(HERE)), view, NOW);
    assert.ok(outcome.kind === 'refused');
    const rule = 'limit 3 for each address';
    assert.deepEqual(outcome.details, { rule, limit: 3, inUse: 3 });
    assert.equal(
      outcome.message,
      'address 192.0.2.7 holds 3 slots of "cad", and may hold 3 at most. ' +
        'Wait until one is returned, or ask your administrator (rule: limit 3 for each address).',
    );
    assert.deepEqual(
      events.map((event) => [event.kind, 'code' in event && event.code, 'rule' in event && event.rule]),
      [['slot_denied', 'floating_not_available', rule]],
    );
  });
});

describe('a holder who calls from elsewhere', () => {
  function countedAt(slots: readonly Registration[], license = exampleLicense({ slots: 100 })) {
    const view = exampleView({ license, rules, slots }, 'ada');
    const { outcome, changes } = decide(register('ada', from(THERE)), view, NOW);
    assert.equal(outcome.kind, 'granted');
    const [put] = changes;
    assert.ok(put?.kind === 'put_registration');
    assert.equal(put.registration.origin, THERE);
    return put.registration.countedAt?.address ?? 'there';
  }
  const there = crowd(3, 0).map((slot) => ({ ...slot, origin: THERE }));

  test('is counted there if a new slot would be lent there', () => {
    assert.equal(countedAt([PLAIN, ...there.slice(1)]), 'there');
    assert.equal(countedAt([PLAIN, ...there]), HERE);
    const full = exampleLicense({ slots: 1 });
    assert.equal(countedAt([PLAIN], full), 'there', 'the own slot would be free');
    assert.equal(countedAt([PLAIN, ...crowd(1, 0)], full), HERE, 'but not of a license with more in use');
  });

  test('is not counted there if deny or allow keep a feature from them there', () => {
    const license = exampleLicense({ features: [exampleFeature('render')] });
    const featureSlots = [exampleFeatureSlot('ada')];
    const countedWith = (render: Partial<SlotRules>) => {
      const set = { ...limitingAddresses(3), groups: { here: group({ addresses: [HERE] }) } };
      const cad = { ...(set.products.cad as ProductRules), features: { render: slotRules(render) } };
      const view = { license, featureSlots, slots: [PLAIN], rules: inForce({ ...set, products: { cad } }) };
      const [put] = decide(register('ada', from(THERE)), exampleView(view, 'ada'), NOW).changes;
      assert.ok(put?.kind === 'put_registration');
      return put.registration.countedAt?.address ?? 'there';
    };
    assert.equal(countedWith({}), 'there');
    assert.equal(countedWith({ deny: group({ addresses: [HERE] }) }), 'there');
    assert.equal(countedWith({ deny: group({ addresses: [THERE] }) }), HERE);
    assert.equal(countedWith({ allow: ['here'] }), HERE);
  });

  test('and wherever they go, if there are no such rules', () => {
    const view = exampleView({ slots: [PLAIN] }, 'ada');
    const [put] = decide(register('ada', from(THERE)), view, NOW).changes;
    assert.ok(put?.kind === 'put_registration' && put.registration.countedAt === undefined);
  });
});
