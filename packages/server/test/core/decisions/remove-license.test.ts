import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { removeLicense } from '../../../src/core/decisions/remove-license.ts';
import { exampleLicense, exampleSlot, exampleView, LICENSE_ID, NOW, type ViewFacts } from '../examples.ts';

function decideOn(facts: ViewFacts, isGivenBack?: boolean) {
  const command = { kind: 'remove_license', licenseId: LICENSE_ID, by: 'admin' } as const;
  const more = isGivenBack === undefined ? {} : { isGivenBack };
  return removeLicense.decide({ ...command, ...more }, exampleView(facts, null), NOW);
}

const FROM_FILE = exampleLicense({ source: 'offline' });
const GIVEN_BACK = { ...FROM_FILE, tie: { ...FROM_FILE.tie, isGivenBack: true } };

describe('a license is removed', () => {
  test('with the slots that are in use', () => {
    const { outcome, changes, events } = decideOn({ license: FROM_FILE, slots: [exampleSlot('ada')] });
    assert.deepEqual(outcome, { kind: 'done', count: 1 });
    assert.deepEqual(changes, [{ kind: 'remove_license' }]);
    assert.deepEqual(events, [{ kind: 'license_removed', product: 'cad', inUse: 1, by: 'admin' }]);
  });

  test('for good if it is given back: requests for its file are void', () => {
    const { changes } = decideOn({ license: FROM_FILE }, true);
    assert.deepEqual(changes, [
      { kind: 'put_license', license: GIVEN_BACK },
      { kind: 'void_requests', product: 'cad' },
      { kind: 'remove_license' },
    ]);
  });

  test('for good if it is of a cloud, which no file answers', () => {
    const { changes } = decideOn({ license: { ...FROM_FILE, source: 'cloud' } }, true);
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['put_license', 'remove_license'],
    );
  });

  test('once, if it was given back before', () => {
    assert.deepEqual(decideOn({ license: GIVEN_BACK }, true).outcome, { kind: 'done', count: 0 });
    assert.deepEqual(decideOn({ license: GIVEN_BACK }).outcome, { kind: 'done', count: 1 });
  });
});
