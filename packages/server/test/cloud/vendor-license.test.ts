import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cloudLicense } from '@berth/protocol/cloud/cloud-license';
import { readVendorLicense } from '../../src/cloud/vendor-license.ts';

const LEAST = {
  id: 7,
  license_type: 'perpetual',
  product_details: { product_id: 1, short_code: 'cad' },
};

const FEATURE = { id: 1, code: 'export', feature_type: 'consumption' };

function read(facts: object = {}) {
  return readVendorLicense(cloudLicense.parse({ ...LEAST, ...facts }));
}

function withNulls(facts: object, schema: { shape: object }): object {
  return { ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, null])), ...facts };
}

describe('a license with few facts', () => {
  test('grants only what it states, and does not end', () => {
    const { license, isFloating, counted } = read();
    assert.equal(isFloating, false);
    assert.deepEqual(counted, { total: 0, features: [] });
    const { slots, timeoutMinutes, canBorrow, maxBorrowHours, graceHours, allowGracePeriod } = license;
    assert.deepEqual([slots, timeoutMinutes, canBorrow, maxBorrowHours], [0, 120, false, 0]);
    assert.deepEqual([graceHours, allowGracePeriod, license.maxOfflineDays], [0, false, null]);
    assert.deepEqual([license.enabled, license.active], [true, true]);
    assert.deepEqual([license.startsAt, license.validUntil, license.features], [null, null, []]);
    assert.deepEqual(license.consumption, {
      max: 0,
      unlimited: false,
      allowOverages: false,
      maxOverages: 0,
      allowNegative: false,
      period: null,
    });
  });

  test('is the same with null everywhere', () => {
    assert.deepEqual(read(withNulls(LEAST, cloudLicense)), read());
  });

  test('is not floating without slots', () => {
    assert.equal(read({ is_floating: true }).isFloating, false);
    assert.equal(read({ is_floating: true, floating_users: 0 }).isFloating, false);
    assert.equal(read({ is_floating: false, floating_users: 3 }).isFloating, false);
    assert.equal(read({ is_floating: true, floating_users: 3 }).isFloating, true);
  });
});

describe('the days without a check', () => {
  const DAYS: readonly (readonly [unknown, number | null])[] = [
    [30, 30],
    ['30', 30],
    [0.5, 0.5],
    ['', null],
    [null, null],
    ['soon', null],
    ['30 days', null],
    [0, null],
    [-1, null],
    ['Infinity', null],
    [{}, null],
    [[], null],
    [false, null],
    [true, null],
    [[30], null],
    ['0x1e', null],
    ['3e1', null],
    [' 7.5 ', 7.5],
  ];

  for (const [given, expected] of DAYS) {
    test(`${JSON.stringify(given)} means ${expected}`, () => {
      assert.equal(read({ metadata: { max_offline_days: given } }).license.maxOfflineDays, expected);
    });
  }
});

describe('a feature', () => {
  test('takes missing facts from its license', () => {
    const lent = { is_floating: true, floating_users: 9, floating_timeout: 33, can_borrow: true };
    const { license } = read({
      ...lent,
      max_borrow_time: 5,
      product_features: [{ ...FEATURE, is_floating: true }],
    });
    const expected = { slots: 9, timeoutMinutes: 33, canBorrow: true, maxBorrowHours: 5 };
    assert.deepEqual(license.features[0]?.floating, expected);
    const own = { is_floating: true, floating_users: 0, floating_timeout: 1, can_borrow: false };
    const other = read({ ...lent, product_features: [{ ...FEATURE, ...own, max_borrow_time: 0 }] });
    const mine = { slots: 0, timeoutMinutes: 1, canBorrow: false, maxBorrowHours: 0 };
    assert.deepEqual(other.license.features[0]?.floating, mine);
  });

  test('has its maximum under either name', () => {
    const maxOf = (facts: object) =>
      read({ product_features: [{ ...FEATURE, ...facts }] }).license.features[0]?.consumption.max;
    assert.deepEqual([maxOf({ max_consumption: 4 }), maxOf({ max_consumptions: 5 }), maxOf({})], [4, 5, 0]);
    assert.equal(maxOf({ max_consumption: 4, max_consumptions: 0 }), 0);
  });

  test('is reset only if that is stated', () => {
    const periodOf = (facts: object) =>
      read({ product_features: [{ ...FEATURE, ...facts }] }).license.features[0]?.consumption.period;
    assert.equal(periodOf({ consumption_period: 'daily' }), null);
    assert.equal(periodOf({ consumption_period: 'daily', reset_consumption: true }), 'daily');
    assert.equal(periodOf({ reset_consumption: true }), null);
  });
});

describe('a license in a wrong shape is rejected', () => {
  const WRONG: readonly object[] = [
    { id: '7' },
    { id: 0 },
    { id: 7.5 },
    { license_type: 'gift' },
    { license_type: null },
    { floating_users: '5' },
    { floating_users: -1 },
    { floating_users: 1.5 },
    { floating_timeout: 0 },
    { floating_timeout: '10' },
    { is_floating: 'yes' },
    { license_enabled: 1 },
    { validity_period: 'tomorrow' },
    { validity_period: 1893456000 },
    { grace_period: -1 },
    { max_consumptions: 1e300 },
    { total_consumptions: '3' },
    { consumption_period: 'hourly' },
    { metadata: 'none' },
    { custom_fields: {} },
    { product_details: null },
    { product_details: { product_id: 1, short_code: '' } },
    { product_features: {} },
    { product_features: [{ ...FEATURE, code: '' }] },
    { product_features: [{ ...FEATURE, feature_type: 'other' }] },
    { product_features: [{ ...FEATURE, expiry_date: 'never' }] },
    { requires: 'seats' },
    { requires: [7] },
    { requires: ['seats'] },
  ];

  for (const facts of WRONG) {
    test(JSON.stringify(facts), () => {
      assert.equal(cloudLicense.safeParse({ ...LEAST, ...facts }).success, false);
    });
  }

  test('and one that needs a newer server says so before anything else', () => {
    assert.ok(cloudLicense.safeParse({ ...LEAST, requires: [] }).success);
    const { error } = cloudLicense.safeParse({ ...LEAST, license_type: 'gift', requires: ['seats\n'] });
    assert.deepEqual(error?.issues[0]?.path, ['requires']);
    assert.match(
      error?.issues[0]?.message ?? '',
      /^has "seats.+", which needs a newer Berth\. Update the server/,
    );
  });
});
