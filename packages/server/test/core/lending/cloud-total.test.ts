import assert from 'node:assert/strict';
import { test } from 'node:test';
import { periodOf, rebaseAll } from '../../../src/core/lending/cloud-total.ts';
import { exampleFeature, exampleLicense, exampleLimits, exampleView, NOW } from '../examples.ts';

test('a total is reset as its license or its feature says', () => {
  const consumption = exampleLimits({ period: 'monthly' });
  const features = [exampleFeature('export', { consumption: exampleLimits({ period: 'daily' }) })];
  const license = exampleLicense({ consumption, features });
  assert.deepEqual(
    ['', 'export', 'none'].map((feature) => periodOf(license, feature)),
    ['monthly', 'daily', null],
  );
});

test('without counts of the cloud, no total is kept', () => {
  const license = exampleLicense();
  const { keptTotal } = rebaseAll(license, undefined, exampleView({ license }, null), NOW, () => true);
  assert.equal(keptTotal, false);
});
