import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BorrowUntil } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { License } from '../../../src/core/nouns/license.ts';
import type { Granted, Refused } from '../../../src/core/outcome.ts';
import {
  borrow,
  exampleLicense,
  exampleSlot,
  exampleView,
  expectRefused,
  NOW,
  type ViewFacts,
} from '../examples.ts';

const DAY_MS = 24 * HOUR_MS;
const after = (millis: number): Instant => plus(NOW, millis);

function borrowOn(facts: ViewFacts, until: BorrowUntil, user = 'ada'): Decision {
  return decide(borrow(user, until), exampleView(facts, user), NOW);
}

function grantedOf({ outcome }: Decision): Granted {
  assert.equal(outcome.kind, 'granted');
  return outcome as Granted;
}

function refusedOf({ outcome }: Decision): Refused {
  return expectRefused(outcome);
}

describe('until when a slot is borrowed', () => {
  const validUntil = after(2 * HOUR_MS);
  const cases: [string, Partial<License>, BorrowUntil, number | string][] = [
    ['the requested date', {}, after(3 * HOUR_MS), 3 * HOUR_MS],
    ['the longest that the license allows', {}, 'longest', DAY_MS],
    ['the longest within validity', { validUntil }, 'longest', 2 * HOUR_MS],
    ['exactly the latest', {}, after(DAY_MS), DAY_MS],
    ['a minute beyond is cut to the latest', {}, after(DAY_MS + MINUTE_MS), DAY_MS],
    ['five minutes beyond too', {}, after(DAY_MS + 5 * MINUTE_MS), DAY_MS],
    ['a millisecond more is refused', {}, after(DAY_MS + 5 * MINUTE_MS + 1), 'borrow_until_not_valid'],
    ['six minutes more are refused', {}, after(DAY_MS + 6 * MINUTE_MS), 'borrow_until_not_valid'],
    ['a minute beyond validity is cut', { validUntil }, after(2 * HOUR_MS + MINUTE_MS), 2 * HOUR_MS],
    ['far beyond validity is refused', { validUntil }, after(3 * HOUR_MS), 'borrow_until_not_valid'],
    ['the next millisecond is accepted', {}, after(1), 1],
    ['now is not in the future', {}, NOW, 'borrow_until_not_valid'],
    ['the past is refused', {}, after(-HOUR_MS), 'borrow_until_not_valid'],
    ['no date is refused', {}, 'unreadable', 'borrow_until_not_valid'],
  ];
  for (const [title, facts, until, expected] of cases) {
    test(title, () => {
      const decision = borrowOn({ license: exampleLicense(facts) }, until);
      if (typeof expected === 'string') {
        assert.equal(refusedOf(decision).code, expected);
        return;
      }
      const { registration } = grantedOf(decision);
      assert.equal(registration.borrowedUntil, after(expected));
      assert.equal(registration.endsAt, after(Math.max(expected, 10 * MINUTE_MS)));
    });
  }

  test('a slot that is kept for others is not borrowed, but that of its holder', () => {
    assert.equal(
      refusedOf(borrowOn({ slots: [exampleSlot('bob')], kept: 1 }, after(1))).code,
      'floating_not_available',
    );
    assert.equal(grantedOf(borrowOn({ slots: [exampleSlot('ada')], kept: 2 }, after(1))).inUse, 1);
  });

  test('every refusal of a date says the latest one', () => {
    const license = exampleLicense({ validUntil });
    for (const until of ['unreadable', NOW, after(DAY_MS)] as const) {
      const { details, message } = refusedOf(borrowOn({ license }, until));
      assert.deepEqual(details, { latestUntil: validUntil });
      assert.match(message, /^"borrowed_until" .+\. The latest .+2030-01-15T14:00:00\.000Z\.$/);
    }
  });

  test('nothing can be borrowed in the grace period', () => {
    const license = exampleLicense({ validUntil: NOW, allowGracePeriod: true, graceHours: 48 });
    for (const until of ['longest', after(HOUR_MS), after(1), 'unreadable'] as const) {
      const { code, details, message } = refusedOf(borrowOn({ license }, until));
      assert.equal(code, 'borrow_until_not_valid');
      assert.deepEqual([details, /\d{4}-/.test(message)], [{}, false], 'the end of validity has passed');
    }
  });
});

describe('borrow', () => {
  test('registers a new user', () => {
    const until = after(HOUR_MS);
    const decision = borrowOn({ slots: [exampleSlot('bob')] }, until);
    const { registration, inUse } = grantedOf(decision);
    assert.deepEqual([registration.registeredAt, registration.endsAt, inUse], [NOW, until, 2]);
    assert.deepEqual(decision.events, [
      { kind: 'slot_lent', user: 'ada', hostname: 'host-1' },
      { kind: 'slot_borrowed', user: 'ada', borrowedUntil: until },
    ]);
    assert.deepEqual(decision.changes, [
      { kind: 'put_registration', registration, before: null },
      { kind: 'set_in_use', inUse: 2 },
      { kind: 'forget_borrow', user: 'ada', feature: '' },
    ]);
  });

  test('keeps the slot of a user who holds one', () => {
    const held = exampleSlot('ada');
    const decision = borrowOn({ slots: [held, exampleSlot('bob')] }, after(HOUR_MS));
    assert.equal(grantedOf(decision).registration.registeredAt, held.registeredAt);
    assert.equal(grantedOf(decision).inUse, 2);
    assert.deepEqual(
      decision.events.map(({ kind }) => kind),
      ['slot_borrowed'],
    );
  });

  for (const [direction, hours] of [
    ['later', 5],
    ['earlier', 1],
  ] as const) {
    test(`again moves the date ${direction}`, () => {
      const borrowedUntil = after(3 * HOUR_MS);
      const slots = [exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil })];
      const { registration } = grantedOf(borrowOn({ slots }, after(hours * HOUR_MS)));
      assert.equal(registration.borrowedUntil, after(hours * HOUR_MS));
      assert.equal(registration.endsAt, after(hours * HOUR_MS));
    });
  }

  test('names no time for a longer borrow if the slot that ends next leaves too many in use', () => {
    const slots = [exampleSlot('ada'), exampleSlot('bob'), exampleSlot('eve')];
    for (const [count, expected] of [
      [2, { slots: 2, inUse: 3, nextFreeAt: after(9 * MINUTE_MS) }],
      [1, { slots: 1, inUse: 3 }],
    ] as const) {
      const refusal = refusedOf(borrowOn({ license: exampleLicense({ slots: count }), slots }, 'longest'));
      assert.deepEqual(refusal.details, expected);
    }
  });

  test('is all or nothing: no slot, no registration', () => {
    const decision = borrowOn({ slots: [exampleSlot('bob'), exampleSlot('eve')] }, 'longest');
    assert.equal(refusedOf(decision).code, 'floating_not_available');
    assert.deepEqual(refusedOf(decision).details, { slots: 2, inUse: 2, nextFreeAt: after(9 * MINUTE_MS) });
    assert.deepEqual(
      decision.changes.map(({ kind }) => kind),
      ['put_denial'],
    );
  });

  test('that is refused leaves the old borrow unchanged', () => {
    const borrowedUntil = after(HOUR_MS);
    const slots = [exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil })];
    const decision = borrowOn({ slots }, after(-1));
    assert.deepEqual(
      decision.changes.map(({ kind }) => kind),
      ['put_denial'],
    );
  });

  for (const facts of [{ canBorrow: false }, { maxBorrowHours: 0 }]) {
    test(`is refused with ${JSON.stringify(facts)}, before the date is checked`, () => {
      const decision = borrowOn({ license: exampleLicense(facts) }, 'unreadable');
      assert.equal(refusedOf(decision).code, 'license_borrow_not_allowed');
      assert.deepEqual(decision.events, [
        {
          kind: 'slot_denied',
          user: 'ada',
          hostname: 'host-1',
          code: 'license_borrow_not_allowed',
          repeated: 0,
        },
      ]);
    });
  }
});

describe('borrow from a license with fewer slots than are in use', () => {
  const license = exampleLicense({ slots: 1 });
  const borrowedUntil = after(2 * HOUR_MS);
  const bob = exampleSlot('bob');
  const plain = exampleSlot('ada');
  const borrowed = exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil });
  const lapsed = exampleSlot('ada', { borrowedUntil: after(-1) });

  const cases: [string, typeof plain, number, boolean][] = [
    ['starts no borrow', plain, HOUR_MS, false],
    ['starts no borrow after one that has ended', lapsed, HOUR_MS, false],
    ['extends none', borrowed, 2 * HOUR_MS + 1, false],
    ['accepts the same date again', borrowed, 2 * HOUR_MS, true],
    ['accepts an earlier date', borrowed, HOUR_MS, true],
  ];
  for (const [title, held, untilMs, isGranted] of cases) {
    test(title, () => {
      const { outcome } = borrowOn({ license, slots: [held, bob] }, after(untilMs));
      assert.equal(outcome.kind, isGranted ? 'granted' : 'refused');
      if (outcome.kind === 'refused') assert.equal(outcome.code, 'floating_not_available');
    });
  }

  test('works again as soon as use is within the limit', () => {
    const over = exampleSlot('bob', { endsAt: NOW });
    const { registration } = grantedOf(borrowOn({ license, slots: [plain, over] }, after(HOUR_MS)));
    assert.equal(registration.borrowedUntil, after(HOUR_MS));
  });
});
