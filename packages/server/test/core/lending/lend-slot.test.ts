import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRange } from '@berth/protocol/address-range';
import type { Borrow, Register } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { Registration } from '../../../src/core/nouns/registration.ts';
import {
  borrow,
  exampleLicense,
  exampleSlot,
  exampleView,
  from,
  NOW,
  readsOf,
  register,
} from '../examples.ts';

const HERE = '192.0.2.7';
const asked = { ...from(HERE), perAddress: { slots: 3, borrows: 1 } };
const PLAIN = exampleSlot('ada');
const BORROWED = exampleSlot('ada', { borrowedUntil: plus(NOW, HOUR_MS), endsAt: plus(NOW, HOUR_MS) });

describe('the limit of an address', () => {
  test('applies only to a user who takes more than they hold', () => {
    const here = [parseRange(HERE)];
    const cases: [Register | Borrow, Registration | null, typeof here | undefined][] = [
      [register('ada', asked), null, here],
      [register('ada', asked), PLAIN, undefined],
      [borrow('ada', 'longest', asked), PLAIN, here],
      [borrow('ada', 'longest', asked), BORROWED, undefined],
      [borrow('ada', 'longest', { ...asked, perAddress: { slots: 3, borrows: 0 } }), PLAIN, undefined],
      [register('ada', from(HERE)), null, undefined],
      [register('ada', { perAddress: asked.perAddress }), null, undefined],
    ];
    for (const [command, slot, counted] of cases) {
      const view = exampleView({ slots: slot === null ? [] : [slot] }, 'ada');
      assert.deepEqual(readsOf(command, view).countCrowd, counted);
    }
  });

  test('refuses more than the limit, and nothing up to it', () => {
    const license = exampleLicense({ slots: 100 });
    const codeOf = (command: Register | Borrow, crowd: { slots: number; borrows: number }) => {
      const { outcome } = decide(command, exampleView({ license, crowd }, 'ada'), NOW);
      return outcome.kind === 'refused' ? outcome.code : outcome.kind;
    };
    assert.equal(codeOf(register('ada', asked), { slots: 2, borrows: 1 }), 'granted');
    assert.equal(codeOf(register('ada', asked), { slots: 3, borrows: 0 }), 'address_limit_reached');
    assert.equal(codeOf(borrow('ada', 'longest', asked), { slots: 2, borrows: 0 }), 'granted');
    assert.equal(codeOf(borrow('ada', 'longest', asked), { slots: 2, borrows: 1 }), 'address_limit_reached');
  });

  test('comes after a full license, and is recorded', () => {
    const crowd = { slots: 3, borrows: 0 };
    const license = exampleLicense({ slots: 1 });
    const full = decide(
      register('ada', asked),
      exampleView({ license, crowd, slots: [exampleSlot('bob')] }, 'ada'),
      NOW,
    );
    assert.equal(full.outcome.kind === 'refused' && full.outcome.code, 'floating_not_available');
    const { events } = decide(register('ada', asked), exampleView({ license, crowd }, 'ada'), NOW);
    assert.deepEqual(
      events.map((event) => [event.kind, 'code' in event && event.code]),
      [['slot_denied', 'address_limit_reached']],
    );
  });
});
