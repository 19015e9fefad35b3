import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LicenseCommand } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import {
  exampleFeature,
  exampleFeatureSlot,
  exampleLicense,
  exampleSlot,
  exampleView,
  expectRefused,
  NOW,
  recall,
  release,
  releaseFeature,
  unregister,
  type ViewFacts,
} from '../examples.ts';

const HOLDER = exampleSlot('ada', { endsAt: plus(NOW, HOUR_MS) });

function decideOn(command: LicenseCommand & { user: string }, facts: ViewFacts = {}) {
  const view = exampleView({ slots: [HOLDER], meter: { feature: 'render' }, ...facts }, command.user);
  return decide(command, view, NOW);
}

describe('a slot of a feature is returned', () => {
  test('with an event, whatever state the license is in', () => {
    const license = exampleLicense({
      features: [exampleFeature('render', { expiresAt: NOW })],
      enabled: false,
    });
    const featureSlots = [exampleFeatureSlot('ada')];
    const { outcome, changes, events } = decideOn(releaseFeature('ada'), { license, featureSlots });
    assert.deepEqual(outcome, { kind: 'done', count: 1 });
    assert.deepEqual(changes, [
      { kind: 'remove_feature_slot', feature: 'render', user: 'ada' },
      { kind: 'forget_borrow', user: 'ada', feature: 'render' },
    ]);
    assert.deepEqual(events, [{ kind: 'feature_returned', feature: 'render', user: 'ada' }]);
  });

  test('is refused without a trace if there is none', () => {
    const unknown = decideOn(releaseFeature('ada', { feature: 'nothing' })).outcome;
    assert.equal(unknown.kind === 'refused' && unknown.code, 'invalid_license_feature_code');
    const { outcome, changes, events } = decideOn(releaseFeature('ada'), {
      slots: [HOLDER, exampleSlot('bob')],
    });
    assert.equal(expectRefused(outcome).code, 'floating_feature_device_not_in_use');
    assert.deepEqual([changes, events], [[], []]);
  });

  const borrowed = exampleSlot('ada', { borrowedUntil: plus(NOW, HOUR_MS), endsAt: plus(NOW, HOUR_MS) });
  const ways: [string, LicenseCommand & { user: string }, ViewFacts, string][] = [
    ['unregister', unregister('ada'), {}, 'slot_returned'],
    ['release', release('ada'), {}, 'slot_returned'],
    ['recall', recall('ada'), { slots: [borrowed] }, 'slot_recalled'],
  ];
  for (const [title, command, facts, last] of ways) {
    test(`${title} returns it with the slot of the license`, () => {
      const featureSlots = [exampleFeatureSlot('ada'), exampleFeatureSlot('bob')];
      const slots = [HOLDER, exampleSlot('bob')];
      const { changes, events } = decideOn(command, { slots, featureSlots, ...facts });
      const [registration] = facts.slots ?? slots;
      assert.deepEqual(changes[0], { kind: 'remove_feature_slot', feature: 'render', user: 'ada' });
      assert.deepEqual(changes[1], { kind: 'remove_registration', registration });
      assert.deepEqual(
        events.map(({ kind }) => kind),
        ['feature_returned', last],
      );
    });
  }
});
