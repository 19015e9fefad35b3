import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from './decide.ts';
import { recallWindowStart } from './decide-recall.ts';
import { exampleLicense, exampleSlot, exampleView, NOW, recall } from './examples.ts';
import { HOUR_MS, plus } from './instant.ts';

const borrowedUntil = plus(NOW, HOUR_MS);
const BORROWED = exampleSlot('ada', { borrowedUntil, endsAt: borrowedUntil });

function recallAfter(recalls: number) {
  return decide(recall('ada'), exampleView({ slots: [BORROWED], recalls }, 'ada'), NOW);
}

describe('recall', () => {
  test('frees the slot at once, counts the recall and says who did it', () => {
    const { outcome, changes, events } = recallAfter(0);
    assert.deepEqual(outcome, { kind: 'done', count: 1 });
    assert.deepEqual(changes, [
      { kind: 'remove_registration', user: 'ada' },
      { kind: 'set_in_use', inUse: 0 },
      { kind: 'add_recall', user: 'ada', borrowedUntil },
    ]);
    assert.deepEqual(events, [{ kind: 'slot_recalled', user: 'ada', borrowedUntil, by: 'admin' }]);
  });

  test('as often as the license has slots within one longest borrow', () => {
    assert.equal(recallAfter(1).outcome.kind, 'done');
    const { outcome, changes } = recallAfter(2);
    assert.equal(outcome.kind === 'refused' && outcome.code, 'recall_limit_reached');
    assert.deepEqual(outcome.kind === 'refused' && outcome.details, { recalls: 2, slots: 2 });
    assert.deepEqual(changes, []);
  });

  test('counts the recalls of the last longest borrow', () => {
    assert.equal(recallWindowStart(exampleLicense({ maxBorrowHours: 5 }), NOW), plus(NOW, -5 * HOUR_MS));
  });
});
