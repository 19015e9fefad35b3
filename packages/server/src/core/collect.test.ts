import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collect, countInUse, inUseChange } from './collect.ts';
import { decide } from './decide.ts';
import { exampleLicense, exampleSlot, exampleView, LICENSE_ID, NOW, register } from './examples.ts';
import { plus } from './instant.ts';
import { COLLECT_LIMIT, type Denial } from './view.ts';

const collectCommand = { kind: 'collect', licenseId: LICENSE_ID } as const;

/** Slots that ended one after the other, the last of them now. */
function endedSlots(count: number) {
  return Array.from({ length: count }, (_, index) =>
    exampleSlot(`user-${index}`, { endsAt: plus(NOW, index + 1 - count) }),
  );
}

describe('what has ended', () => {
  test('is not in use, whoever has tidied', () => {
    const view = exampleView({ slots: [...endedSlots(3), exampleSlot('ada')] }, null);
    assert.equal(countInUse(view), 1);
    assert.equal(view.storedInUse, 4);
  });

  test('goes with every command, the longest ended first, each with its event', () => {
    const { inUse, storedInUse, held, changes, events } = collect(
      exampleView({ slots: [...endedSlots(2), exampleSlot('ada')] }, 'ada'),
      NOW,
    );
    assert.deepEqual([inUse, storedInUse, held?.user], [1, 1, 'ada']);
    assert.deepEqual(
      changes.map((change) => change.kind === 'remove_registration' && change.user),
      ['user-0', 'user-1'],
    );
    assert.deepEqual(events[0], { kind: 'slot_expired', user: 'user-0', endedAt: plus(NOW, -1) });
  });

  test('is counted right where it is more than one command collects', () => {
    const slots = [...endedSlots(2 * COLLECT_LIMIT + 500), exampleSlot('ada')];
    const collected = collect(exampleView({ slots }, null), NOW);
    assert.equal(collected.inUse, 1);
    assert.equal(collected.storedInUse, COLLECT_LIMIT + 501);
    assert.equal(collected.changes.length, COLLECT_LIMIT);
  });

  test('includes the own slot of a user beyond the first thousand, before they get a new one', () => {
    const slots = endedSlots(COLLECT_LIMIT + 500);
    const user = `user-${COLLECT_LIMIT + 499}`;
    const decision = decide(register(user), exampleView({ slots }, user), NOW);
    assert.equal(decision.outcome.kind === 'granted' && decision.outcome.inUse, 1);
    assert.deepEqual(decision.changes.at(-1), { kind: 'set_in_use', inUse: 500 });
    const removed = decision.changes.filter((change) => change.kind === 'remove_registration');
    assert.equal(removed.length, COLLECT_LIMIT + 1);
    assert.equal(removed.filter((change) => change.user === user).length, 1);
  });

  test('is removed once when the own slot is among the first thousand', () => {
    const { changes, storedInUse } = collect(exampleView({ slots: endedSlots(3) }, 'user-1'), NOW);
    assert.equal(changes.length, 3);
    assert.equal(storedInUse, 0);
  });

  test('writes the number only when it changes', () => {
    const view = exampleView({ slots: [exampleSlot('ada')] }, null);
    assert.deepEqual(inUseChange(view, 1), []);
    assert.deepEqual(inUseChange(view, 0), [{ kind: 'set_in_use', inUse: 0 }]);
  });
});

describe('the housekeeping command', () => {
  test('does what every command does anyway, and says how many it removed', () => {
    const view = exampleView({ slots: [...endedSlots(2), exampleSlot('ada')] }, null);
    const { outcome, changes, events } = decide(collectCommand, view, NOW);
    assert.deepEqual(outcome, { kind: 'done', count: 2 });
    assert.deepEqual(changes, [
      { kind: 'remove_registration', user: 'user-0' },
      { kind: 'remove_registration', user: 'user-1' },
      { kind: 'set_in_use', inUse: 1 },
    ]);
    assert.equal(events.length, 2);
  });

  test('finds nothing, writes nothing', () => {
    const view = exampleView({ license: exampleLicense(), slots: [exampleSlot('ada')] }, null);
    const nothing = { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
    assert.deepEqual(decide(collectCommand, view, NOW), nothing);
  });

  test('turns counters of denials into events, and forgets the ones that count nothing', () => {
    const code = 'floating_not_available';
    const busy: Denial = { user: 'bob', code, deniedAt: plus(NOW, -60_000), repeated: 4 };
    const once: Denial = { user: 'eve', code, deniedAt: plus(NOW, -60_000), repeated: 0 };
    const { outcome, changes, events } = decide(
      collectCommand,
      exampleView({ staleDenials: [busy, once] }, null),
      NOW,
    );
    assert.deepEqual(outcome, { kind: 'done', count: 2 });
    assert.deepEqual(changes, [
      { kind: 'remove_denial', denial: busy },
      { kind: 'remove_denial', denial: once },
    ]);
    assert.deepEqual(events, [{ kind: 'denials_repeated', user: 'bob', code, repeated: 4 }]);
  });
});
