import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseAllFeatures } from '../../../src/core/decisions/release-all.ts';
import { exampleFeatureSlot, exampleSlot, exampleView, LICENSE_ID, NOW, readsOf } from '../examples.ts';

test('an administrator releases all feature slots at once', () => {
  const command = { kind: 'release_all_features', licenseId: LICENSE_ID, by: 'admin' } as const;
  const featureSlots = [exampleFeatureSlot('bob'), exampleFeatureSlot('eve')];
  const view = exampleView({ slots: [exampleSlot('bob'), exampleSlot('eve')], featureSlots }, null);
  const { outcome, changes, events } = releaseAllFeatures.decide(command, view, NOW);
  assert.deepEqual(outcome, { kind: 'done', count: 2 });
  assert.deepEqual(changes, [{ kind: 'remove_all_feature_slots' }]);
  assert.deepEqual(events, [{ kind: 'all_features_returned', count: 2, by: 'admin' }]);
  assert.deepEqual(releaseAllFeatures.decide(command, exampleView({}, null), NOW).events, []);
  assert.deepEqual(readsOf(command, view), { countFeatureSlots: [], listAll: [] });
});
