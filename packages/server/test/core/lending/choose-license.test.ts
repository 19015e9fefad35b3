import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Target } from '../../../src/core/command.ts';
import { findRequestedLicenses, newestOf } from '../../../src/core/lending/choose-license.ts';
import { type License, licenseId } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../examples.ts';

const OLDER = licenseId(1);
const NEWER = licenseId(2);

function licensed(id: number, facts: Partial<License> = {}) {
  return { license: exampleLicense({ id: licenseId(id), ...facts }) };
}

function mean(target: Partial<Target>, licenses: readonly { license: License }[], products = 1) {
  const meant = findRequestedLicenses({ product: null, licenseId: null, ...target }, { products, licenses });
  return 'kind' in meant ? meant.code : meant.map(({ license }) => license.id);
}

describe('the licenses that a request matches', () => {
  const both = [licensed(NEWER), licensed(OLDER, { enabled: false })];

  test('are all of the product, in any state, the most recently added first', () => {
    assert.deepEqual(mean({ product: 'cad' }, both), [NEWER, OLDER]);
    assert.deepEqual(mean({}, both), [NEWER, OLDER], 'and so without naming the only product');
  });

  test('are only the named one', () => {
    assert.deepEqual(mean({ licenseId: OLDER }, both, 5), [OLDER]);
    assert.deepEqual(mean({ product: 'cad', licenseId: OLDER }, both), [OLDER]);
  });

  test('an unknown product is refused before an unknown license', () => {
    assert.equal(mean({ product: 'cam' }, []), 'unknown_product');
    assert.equal(mean({ product: 'cam', licenseId: NEWER }, []), 'unknown_product');
  });

  test('a license that is not there, or not of that product', () => {
    assert.equal(mean({ licenseId: licenseId(9) }, []), 'license_not_found');
    assert.equal(mean({ product: 'cad', licenseId: licenseId(9) }, both), 'license_not_found');
  });

  for (const products of [0, 2]) {
    test(`no product named while the server holds ${products}`, () => {
      assert.equal(mean({}, [], products), 'missing_parameters');
    });
  }
});

describe('the license that new users get first', () => {
  const grace = { validUntil: NOW, allowGracePeriod: true, graceHours: 1 };
  const cases: [string, readonly { license: License }[], License['id']][] = [
    ['is the one added last', [licensed(NEWER), licensed(OLDER)], NEWER],
    ['is not an unusable one', [licensed(NEWER, { active: false }), licensed(OLDER)], OLDER],
    ['may be one in grace', [licensed(NEWER, grace), licensed(OLDER)], NEWER],
    [
      'is the one added last if none can be used: it says why',
      [licensed(NEWER, { enabled: false }), licensed(OLDER, { active: false })],
      NEWER,
    ],
  ];
  for (const [title, licenses, expected] of cases) {
    test(title, () => assert.equal(newestOf(licenses, NOW).license.id, expected));
  }
});
