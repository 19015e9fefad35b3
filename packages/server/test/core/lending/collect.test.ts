import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../../src/core/decide.ts';
import {
  collect,
  countFeatureInUse,
  countInUse,
  inUseChange,
  listHeldFeatures,
} from '../../../src/core/lending/collect.ts';
import { ANSWER_LIFETIME_MS } from '../../../src/core/lending/repeat-answer.ts';
import { plus } from '../../../src/core/nouns/instant.ts';
import { COLLECT_LIMIT, type Denial } from '../../../src/core/view.ts';
import {
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  exampleView,
  LICENSE_ID,
  NOW,
  register,
} from '../examples.ts';

const collectCommand = { kind: 'collect', licenseId: LICENSE_ID } as const;

/** Slots that ended one after the other, the last of them now. */
function endedSlots(count: number) {
  return Array.from({ length: count }, (_, index) =>
    exampleSlot(`user-${index}`, { endsAt: plus(NOW, index + 1 - count) }),
  );
}

describe('what has ended', () => {
  test('is not in use, even before it is collected', () => {
    const view = exampleView({ slots: [...endedSlots(3), exampleSlot('ada')] }, null);
    assert.equal(countInUse(view), 1);
    assert.equal(view.storedInUse, 4);
  });

  test('is removed by every command, the longest ended first, each with its event', () => {
    const { inUse, storedInUse, held, changes, events } = collect(
      exampleView({ slots: [...endedSlots(2), exampleSlot('ada')] }, 'ada'),
      NOW,
    );
    assert.deepEqual([inUse, storedInUse, held?.user], [1, 1, 'ada']);
    assert.deepEqual(
      changes.map((change) => change.kind === 'remove_registration' && change.registration.user),
      ['user-0', 'user-1'],
    );
    assert.deepEqual(events[0], { kind: 'slot_expired', user: 'user-0', endedAt: plus(NOW, -1) });
  });

  test('is counted correctly even if one command cannot collect it all', () => {
    const slots = [...endedSlots(2 * COLLECT_LIMIT + 500), exampleSlot('ada')];
    const collected = collect(exampleView({ slots }, null), NOW);
    assert.equal(collected.inUse, 1);
    assert.equal(collected.storedInUse, COLLECT_LIMIT + 501);
    assert.equal(collected.changes.length, COLLECT_LIMIT);
  });

  test("includes the user's own slot beyond the first thousand, before they get a new one", () => {
    const slots = endedSlots(COLLECT_LIMIT + 500);
    const user = `user-${COLLECT_LIMIT + 499}`;
    const decision = decide(register(user), exampleView({ slots }, user), NOW);
    assert.equal(decision.outcome.kind === 'granted' && decision.outcome.inUse, 1);
    assert.deepEqual(decision.changes.at(-1), { kind: 'set_in_use', inUse: 500 });
    const removed = decision.changes.filter((change) => change.kind === 'remove_registration');
    assert.equal(removed.length, COLLECT_LIMIT + 1);
    assert.equal(removed.filter((change) => change.registration.user === user).length, 1);
  });

  test("is removed once if the user's own slot is among the first thousand", () => {
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
  test('does what every command does anyway, and returns how many it removed', () => {
    const ended = endedSlots(2);
    const view = exampleView({ slots: [...ended, exampleSlot('ada')] }, null);
    const { outcome, changes, events } = decide(collectCommand, view, NOW);
    assert.deepEqual(outcome, { kind: 'done', count: 2 });
    assert.deepEqual(changes, [
      ...ended.map((registration) => ({ kind: 'remove_registration', registration })),
      { kind: 'set_in_use', inUse: 1 },
    ]);
    assert.equal(events.length, 2);
  });

  test('writes nothing if it finds nothing', () => {
    const view = exampleView({ license: exampleLicense(), slots: [exampleSlot('ada')] }, null);
    const nothing = { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
    assert.deepEqual(decide(collectCommand, view, NOW), nothing);
  });

  test('turns counters of denials into events, and removes empty ones', () => {
    const code = 'floating_not_available';
    const busy: Denial = { user: 'bob', feature: '', code, deniedAt: plus(NOW, -60_000), repeated: 4 };
    const once: Denial = { user: 'eve', feature: '', code, deniedAt: plus(NOW, -60_000), repeated: 0 };
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

describe('feature slots that have ended', () => {
  test('are removed before the slots of the license, each with its event and its own end', () => {
    const slots = [exampleSlot('ada'), exampleSlot('bob', { endsAt: plus(NOW, -5) })];
    const featureSlots = [
      exampleFeatureSlot('ada', { endsAt: plus(NOW, -1) }),
      exampleFeatureSlot('bob', { endsAt: plus(NOW, 99) }),
    ];
    const { changes, events } = decide(collectCommand, exampleView({ slots, featureSlots }, null), NOW);
    assert.deepEqual(changes, [
      { kind: 'remove_feature_slot', feature: 'render', user: 'ada' },
      { kind: 'remove_feature_slot', feature: 'render', user: 'bob' },
      { kind: 'remove_registration', registration: slots[1] },
      { kind: 'set_in_use', inUse: 1 },
    ]);
    assert.deepEqual(events, [
      { kind: 'feature_expired', feature: 'render', user: 'ada', endedAt: plus(NOW, -1) },
      { kind: 'feature_expired', feature: 'render', user: 'bob', endedAt: plus(NOW, -5) },
      { kind: 'slot_expired', user: 'bob', endedAt: plus(NOW, -5) },
    ]);
  });

  test('of the user are removed once, even beyond the first thousand', () => {
    const own = exampleFeatureSlot('ada', { endsAt: NOW });
    const view = exampleView({ slots: [exampleSlot('ada')], featureSlots: [own] }, 'ada');
    assert.equal(collect(view, NOW).changes.length, 1);
    const beyond = { ...view, endedFeatureSlots: [], endedBeyond: 1 };
    const base = collect(beyond, NOW);
    const { changes } = base;
    assert.deepEqual(changes, [{ kind: 'remove_feature_slot', feature: 'render', user: 'ada' }]);
    assert.deepEqual(listHeldFeatures(beyond, base, NOW), []);
  });

  test('of the user end with the slot of the license, even if no view lists them as ended', () => {
    const slots = [exampleSlot('ada', { endsAt: NOW })];
    const view = exampleView({ slots, featureSlots: [exampleFeatureSlot('ada')] }, 'ada');
    const beyond = { ...view, endedFeatureSlots: [], endedBeyond: 1 };
    const base = collect(beyond, NOW);
    const { changes } = base;
    assert.deepEqual(changes[0], { kind: 'remove_feature_slot', feature: 'render', user: 'ada' });
    assert.deepEqual(listHeldFeatures(beyond, base, NOW), []);
  });

  test('do not count, nor do those beyond the view', () => {
    const view = exampleView(
      { featureSlots: [exampleFeatureSlot('ada'), exampleFeatureSlot('bob', { endsAt: NOW })] },
      null,
    );
    const meter = { ...(view.meter as NonNullable<typeof view.meter>), storedInUse: 12 };
    assert.equal(countFeatureInUse({ ...view, meter, countFeatureEndedBeyond: () => 10 }, 'render'), 1);
  });

  test('only housekeeping removes old answers', () => {
    const view = exampleView({ staleAnswers: 3 }, 'ada');
    const { outcome, changes } = decide(collectCommand, view, NOW);
    assert.deepEqual(outcome, { kind: 'done', count: 3 });
    assert.deepEqual(changes, [{ kind: 'remove_answers', answeredBy: plus(NOW, -ANSWER_LIFETIME_MS) }]);
    const registering = decide(register('ada'), view, NOW).changes;
    assert.ok(!registering.some(({ kind }) => kind === 'remove_answers'));
  });
});
