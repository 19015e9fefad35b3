import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import {
  exampleLicense,
  exampleSlot,
  exampleView,
  NOW,
  recall,
  release,
  unregister,
  type ViewFacts,
} from '../examples.ts';

const borrowedUntil = plus(NOW, HOUR_MS);
const PLAIN = exampleSlot('ada');
const BORROWED = exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil });
const LAPSED = exampleSlot('ada', { borrowedUntil: NOW });
const ENDED = exampleSlot('ada', { endsAt: NOW });

function decideOn(command: LicenseCommand, facts: ViewFacts): Decision {
  return decide(command, exampleView(facts, 'ada'), NOW);
}

function codeOf({ outcome }: Decision): string {
  return outcome.kind === 'refused' ? outcome.code : outcome.kind;
}

describe('who may return which slot', () => {
  const cases: [string, ViewFacts, Record<'unregister' | 'release' | 'recall', string>][] = [
    [
      'a plain slot',
      { slots: [PLAIN] },
      { unregister: 'done', release: 'done', recall: 'slot_not_borrowed' },
    ],
    [
      'a borrowed slot',
      { slots: [BORROWED] },
      { unregister: 'done', release: 'slot_is_borrowed', recall: 'done' },
    ],
    [
      'a slot whose borrow has ended and that heartbeats keep',
      { slots: [LAPSED] },
      { unregister: 'done', release: 'done', recall: 'slot_not_borrowed' },
    ],
    [
      'a slot that ended in this millisecond',
      { slots: [ENDED] },
      { unregister: 'device_not_found', release: 'device_not_found', recall: 'device_not_found' },
    ],
    [
      'no slot',
      { slots: [exampleSlot('bob')] },
      { unregister: 'device_not_found', release: 'device_not_found', recall: 'device_not_found' },
    ],
    [
      'a slot of a license that is disabled and expired',
      { slots: [PLAIN], license: exampleLicense({ enabled: false, validUntil: plus(NOW, -1) }) },
      { unregister: 'done', release: 'done', recall: 'slot_not_borrowed' },
    ],
  ];
  for (const [title, facts, expected] of cases) {
    test(title, () => {
      assert.equal(codeOf(decideOn(unregister('ada'), facts)), expected.unregister);
      assert.equal(codeOf(decideOn(release('ada'), facts)), expected.release);
      assert.equal(codeOf(decideOn(recall('ada'), facts)), expected.recall);
    });
  }
});

describe('returning a slot', () => {
  test('frees it and leaves an event that names the caller', () => {
    const facts = { slots: [PLAIN, exampleSlot('bob')] };
    const changes = [
      { kind: 'remove_registration', registration: PLAIN },
      { kind: 'set_in_use', inUse: 1 },
      { kind: 'forget_borrow', user: 'ada', feature: null },
    ];
    const byUser = decideOn(unregister('ada'), facts);
    assert.deepEqual(byUser.changes, changes);
    assert.deepEqual(byUser.events, [{ kind: 'slot_returned', user: 'ada', by: null }]);
    const byAdmin = decideOn(release('ada'), facts);
    assert.deepEqual(byAdmin.changes, changes);
    assert.deepEqual(byAdmin.events, [{ kind: 'slot_returned', user: 'ada', by: 'admin' }]);
  });

  test('a refusal changes nothing but what had ended anyway', () => {
    assert.deepEqual(decideOn(unregister('ada'), { slots: [exampleSlot('bob')] }).changes, []);
    const collected = decideOn(unregister('ada'), { slots: [ENDED] });
    assert.deepEqual(collected.changes, [
      { kind: 'remove_registration', registration: ENDED },
      { kind: 'set_in_use', inUse: 0 },
    ]);
    assert.deepEqual(collected.events, [{ kind: 'slot_expired', user: 'ada', endedAt: NOW }]);
  });

  test('if borrowing is not allowed there is no ended borrow to delete', () => {
    const { changes } = decideOn(unregister('ada'), {
      license: exampleLicense({ canBorrow: false, features: [] }),
      slots: [PLAIN],
    });
    assert.deepEqual(changes, [
      { kind: 'remove_registration', registration: PLAIN },
      { kind: 'set_in_use', inUse: 0 },
    ]);
  });

  test('a refused release names the end of the borrow', () => {
    const { outcome, changes } = decideOn(release('ada'), { slots: [BORROWED] });
    assert.deepEqual(outcome.kind === 'refused' && outcome.details, { borrowedUntil });
    assert.deepEqual(changes, []);
  });
});
