import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseLicense } from './choose-license.ts';
import type { Target } from './command.ts';
import { exampleLicense, NOW } from './examples.ts';
import { type License, licenseId } from './license.ts';
import type { Candidate } from './view.ts';

const OLDER = licenseId(1);
const NEWER = licenseId(2);

function candidate(id: number, facts: Partial<License> = {}, holdsSlot = false): Candidate {
  return { license: exampleLicense({ id: licenseId(id), ...facts }), holdsSlot, hasAnswered: false };
}

function choose(target: Partial<Target>, candidates: readonly Candidate[], products = 1) {
  const choice = chooseLicense({ product: null, licenseId: null, ...target }, { products, candidates }, NOW);
  return choice.kind === 'chosen' ? choice.licenseId : choice.code;
}

describe('which of two licenses of one product answers', () => {
  const cases: [string, readonly Candidate[], License['id']][] = [
    ['the one added last', [candidate(NEWER), candidate(OLDER)], NEWER],
    ['the one on which the user holds a slot', [candidate(NEWER), candidate(OLDER, {}, true)], OLDER],
    [
      'that one even when it is of no use any more: the slot is there',
      [candidate(NEWER), candidate(OLDER, { enabled: false }, true)],
      OLDER,
    ],
    ['the newest when the user holds slots of both', [candidate(2, {}, true), candidate(1, {}, true)], NEWER],
    ['an unusable newest is passed over', [candidate(NEWER, { active: false }), candidate(OLDER)], OLDER],
    [
      'one in grace is usable',
      [candidate(NEWER, { validUntil: NOW, allowGracePeriod: true, graceHours: 1 }), candidate(OLDER)],
      NEWER,
    ],
    [
      'when none is usable the newest, which says why',
      [candidate(NEWER, { enabled: false }), candidate(OLDER, { active: false })],
      NEWER,
    ],
    ['a full one is not left for another', [candidate(NEWER, { slots: 0 }), candidate(OLDER)], NEWER],
  ];
  for (const [title, candidates, expected] of cases) {
    test(title, () => {
      assert.equal(choose({ product: 'cad' }, candidates), expected);
      assert.equal(choose({}, candidates), expected, 'and so without naming the only product');
    });
  }

  test('a license id rules over all of that', () => {
    const candidates = [candidate(NEWER, {}, true), candidate(OLDER, { enabled: false })];
    assert.equal(choose({ licenseId: OLDER }, candidates, 5), OLDER);
    assert.equal(choose({ product: 'cad', licenseId: OLDER }, candidates), OLDER);
  });
});

describe('when nothing can answer', () => {
  test('an unknown product, before an unknown license', () => {
    assert.equal(choose({ product: 'cam' }, []), 'unknown_product');
    assert.equal(choose({ product: 'cam', licenseId: NEWER }, []), 'unknown_product');
  });

  test('a license that is not there, or not of that product', () => {
    assert.equal(choose({ licenseId: licenseId(9) }, []), 'license_not_found');
    assert.equal(choose({ product: 'cad', licenseId: licenseId(9) }, [candidate(1)]), 'license_not_found');
  });

  for (const products of [0, 2]) {
    test(`no product named while the server holds ${products}`, () => {
      assert.equal(choose({}, [], products), 'missing_parameters');
    });
  }
});
