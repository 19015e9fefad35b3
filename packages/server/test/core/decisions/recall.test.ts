import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../../src/core/decide.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { exampleSlot, exampleView, NOW, recall } from '../examples.ts';

const borrowedUntil = plus(NOW, HOUR_MS);
const BORROWED = exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil });

describe('recall', () => {
  test('frees the slot at once and records who did it, and until when it was borrowed', () => {
    const { outcome, changes, events } = decide(
      recall('ada'),
      exampleView({ slots: [BORROWED] }, 'ada'),
      NOW,
    );
    assert.deepEqual(outcome, { kind: 'done', count: 1 });
    assert.deepEqual(changes, [
      { kind: 'remove_registration', registration: BORROWED },
      { kind: 'set_in_use', inUse: 0 },
      { kind: 'forget_borrow', user: 'ada', feature: null },
    ]);
    assert.deepEqual(events, [{ kind: 'slot_recalled', user: 'ada', borrowedUntil, by: 'admin' }]);
  });
});
