import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { releaseAll } from '../../../src/core/decisions/release-all.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { exampleSlot, exampleView, LICENSE_ID, NOW, type ViewFacts } from '../examples.ts';

const borrowedUntil = plus(NOW, HOUR_MS);
const BORROWED = exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil });
const ENDED = exampleSlot('ada', { endsAt: NOW });

function decideOn(facts: ViewFacts) {
  const command = { kind: 'release_all', licenseId: LICENSE_ID, by: 'admin' } as const;
  return releaseAll.decide(command, exampleView(facts, null), NOW);
}

describe('an administrator releases all slots of a license', () => {
  test('including borrowed ones, and counts only those that were live', () => {
    const ended = exampleSlot('bob', { endsAt: NOW });
    const decision = decideOn({ slots: [BORROWED, ended] });
    assert.deepEqual(decision.outcome, { kind: 'done', count: 1 });
    assert.deepEqual(decision.changes, [
      { kind: 'remove_registration', registration: ended },
      { kind: 'remove_all_feature_slots' },
      { kind: 'remove_live_registrations' },
      { kind: 'set_in_use', inUse: 0 },
      { kind: 'forget_all_borrows' },
    ]);
    assert.deepEqual(decision.events, [
      { kind: 'slot_expired', user: 'bob', endedAt: NOW },
      { kind: 'all_slots_returned', count: 1, by: 'admin' },
    ]);
  });

  test('without an event if there are none', () => {
    assert.deepEqual(decideOn({}), {
      outcome: { kind: 'done', count: 0 },
      changes: [{ kind: 'forget_all_borrows' }],
      events: [],
    });
    const ended = decideOn({ slots: [ENDED] });
    assert.deepEqual(ended.outcome, { kind: 'done', count: 0 });
    assert.deepEqual(ended.changes.at(-2), { kind: 'set_in_use', inUse: 0 });
  });
});
