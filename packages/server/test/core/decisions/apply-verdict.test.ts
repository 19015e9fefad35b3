import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyVerdict } from '../../../src/core/decisions/apply-verdict.ts';
import { exampleLicense, exampleView, NOW } from '../examples.ts';

test('a first verdict of the cloud says nothing of totals', () => {
  const { changes } = applyVerdict.decide(
    { kind: 'apply_verdict', licenseId: exampleLicense().id, verdict: 'license_not_enabled', proof: 'bound' },
    exampleView({}, null),
    NOW,
  );
  const [change] = changes;
  assert.ok(change?.kind === 'put_license');
  assert.deepEqual(change.license.tie.assurance, { isBound: true, unconfirmed: null, keptTotal: false });
});
