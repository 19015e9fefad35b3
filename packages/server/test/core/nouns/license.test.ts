import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import {
  allowsBorrowing,
  endOf,
  heartbeatEnd,
  isUsable,
  type License,
  type LicenseState,
  latestBorrowUntil,
  licenseState,
  nameOfLicense,
  withinValidity,
} from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../examples.ts';

const after = (millis: number): Instant => plus(NOW, millis);

const STATES: [string, Partial<License>, LicenseState][] = [
  ['without any date', {}, 'active'],
  ['disabled, whatever else', { enabled: false, active: false, validUntil: after(-1) }, 'disabled'],
  ['inactive, whatever the dates', { active: false, startsAt: after(1) }, 'inactive'],
  ['a millisecond before its start', { startsAt: after(1) }, 'not_started'],
  ['not started takes precedence over expired', { startsAt: after(1), validUntil: after(-1) }, 'not_started'],
  ['at its start', { startsAt: NOW }, 'active'],
  ['a millisecond before its end', { validUntil: after(1) }, 'active'],
  ['at its end', { validUntil: NOW }, 'expired'],
  ['at its end with grace', { validUntil: NOW, allowGracePeriod: true, graceHours: 1 }, 'in_grace'],
  [
    'in the last millisecond of grace',
    { validUntil: after(-HOUR_MS + 1), allowGracePeriod: true, graceHours: 1 },
    'in_grace',
  ],
  ['at the end of grace', { validUntil: after(-HOUR_MS), allowGracePeriod: true, graceHours: 1 }, 'expired'],
  ['with hours of grace that are not allowed', { validUntil: NOW, graceHours: 5 }, 'expired'],
  ['with 0 hours of grace', { validUntil: NOW, allowGracePeriod: true, graceHours: 0 }, 'expired'],
];

describe('the state of a license', () => {
  for (const [title, facts, expected] of STATES) {
    test(`${title}: ${expected}`, () => {
      const license = exampleLicense(facts);
      assert.equal(licenseState(license, NOW), expected);
      assert.equal(isUsable(license, NOW), expected === 'active' || expected === 'in_grace');
    });
  }
});

test('a license ends with its validity, and after that with its grace', () => {
  const graceful = { allowGracePeriod: true, graceHours: 1 };
  assert.equal(endOf(exampleLicense(), NOW), null);
  assert.equal(endOf(exampleLicense({ validUntil: after(1), ...graceful }), NOW), after(1));
  assert.equal(endOf(exampleLicense({ validUntil: NOW, ...graceful }), NOW), after(HOUR_MS));
  assert.equal(endOf(exampleLicense({ validUntil: after(-5), graceHours: 1 }), NOW), after(-5));
});

describe('how long a slot lives without a heartbeat', () => {
  const graceful = { validUntil: after(MINUTE_MS), allowGracePeriod: true, graceHours: 1 / 60 };
  const cases: [string, Partial<License>, number][] = [
    ['one timeout', { timeoutMinutes: 3 }, 3 * MINUTE_MS],
    ['not beyond validity', { timeoutMinutes: 3, validUntil: after(MINUTE_MS) }, MINUTE_MS],
    ['but through its grace', { timeoutMinutes: 3, ...graceful }, 2 * MINUTE_MS],
    ['nothing is left of an expired one', { validUntil: after(-5) }, -5],
  ];
  for (const [title, facts, expectedMs] of cases) {
    test(title, () => assert.equal(heartbeatEnd(exampleLicense(facts), NOW), after(expectedMs)));
  }
});

describe('how long a slot can be borrowed', () => {
  test('only with the flag and with hours', () => {
    assert.equal(allowsBorrowing(exampleLicense()), true);
    assert.equal(allowsBorrowing(exampleLicense({ canBorrow: false })), false);
    assert.equal(allowsBorrowing(exampleLicense({ maxBorrowHours: 0 })), false);
  });

  test('the longest borrow ends with validity, not with grace', () => {
    const cut = { validUntil: after(HOUR_MS), allowGracePeriod: true, graceHours: 100 };
    assert.equal(latestBorrowUntil(exampleLicense({ maxBorrowHours: 2 }), NOW), after(2 * HOUR_MS));
    assert.equal(latestBorrowUntil(exampleLicense({ maxBorrowHours: 2, ...cut }), NOW), after(HOUR_MS));
  });

  test('nothing is held beyond validity and grace', () => {
    const license = exampleLicense({ validUntil: NOW, allowGracePeriod: true, graceHours: 1 });
    assert.equal(withinValidity(license, after(5 * HOUR_MS)), after(HOUR_MS));
    assert.equal(withinValidity(license, after(1)), after(1));
    assert.equal(withinValidity(exampleLicense(), after(5 * HOUR_MS)), after(5 * HOUR_MS));
  });
});

test('a license is called what its product is called, or else its code', () => {
  const { particulars } = exampleLicense();
  const named = (name: string) => {
    const productDetails = { ...particulars.productDetails, name };
    return nameOfLicense(exampleLicense({ particulars: { ...particulars, productDetails } }));
  };
  assert.equal(named('Kestrel CAD'), 'Kestrel CAD');
  assert.equal(named(''), 'cad');
});
