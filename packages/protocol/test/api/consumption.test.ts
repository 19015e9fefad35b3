import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addConsumptionRequest,
  addFeatureConsumptionRequest,
  count,
  featureRegisterRequest,
  IDEMPOTENCY_KEY,
} from '../../src/api/consumption.ts';

const COUNT_MESSAGE = 'must be a whole number below 2^53, as a number or as digits';

describe('a count', () => {
  const accepted: [unknown, number][] = [
    [undefined, 1],
    [null, 1],
    [3, 3],
    ['3', 3],
    ['0003', 3],
    [0, 0],
    ['0', 0],
    ['-0', -0],
    [-2, -2],
    ['-2', -2],
    [9007199254740991, 9007199254740991],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
  ];
  for (const [sent, read] of accepted) {
    test(`${JSON.stringify(sent)} is ${read}`, () => assert.equal(count.parse(sent), read));
  }

  const refused: unknown[] = [
    '1.5',
    1.5,
    'abc',
    '1e3',
    '0x10',
    '+1',
    '--1',
    '1 ',
    '١',
    2 ** 53,
    '9007199254740993',
    '-9007199254740993',
    '9'.repeat(17),
    '9'.repeat(400),
    '',
    ' ',
    true,
    [],
    [1],
    {},
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ];
  for (const sent of refused) {
    test(`${JSON.stringify(sent)?.slice(0, 30)} is refused`, () => {
      const { success, error } = count.safeParse(sent);
      assert.equal(success, false);
      assert.equal(error?.issues[0]?.message, COUNT_MESSAGE);
    });
  }

  test('defaults to 1, for the license and for a feature', () => {
    for (const schema of [addConsumptionRequest, addFeatureConsumptionRequest]) {
      assert.equal(schema.parse({}).consumptions, 1);
      assert.equal(schema.parse({ consumptions: '7', unknown: true }).consumptions, 7);
    }
  });

  test('of minus zero is the same as zero', () => {
    assert.ok(Object.is(JSON.stringify(count.parse('-0')), '0'));
  });
});

describe('a flag', () => {
  const read = (value: unknown) => addConsumptionRequest.parse({ allow_overages: value }).allow_overages;

  test('is a boolean, or its name in any case', () => {
    for (const value of [true, 'true', 'TRUE', 'True', ' true ']) assert.equal(read(value), true);
    for (const value of [false, 'false', 'FALSE']) assert.equal(read(value), false);
  });

  test('blank, null and missing mean "not given"', () => {
    for (const value of ['', '  ', null, undefined]) assert.equal(read(value) ?? null, null);
  });

  test('anything else is refused', () => {
    for (const value of ['yes', '1', 0, 1, [], {}, 'truefalse', 'constructor', '__proto__']) {
      const { error } = addConsumptionRequest.safeParse({ allow_overages: value });
      assert.equal(error?.issues[0]?.message, 'must be true or false', JSON.stringify(value));
    }
  });
});

describe('an overage', () => {
  const read = (value: unknown) => addConsumptionRequest.parse({ max_overages: value }).max_overages;

  test('is a whole number that is not negative, or digits', () => {
    for (const [sent, expected] of [
      [0, 0],
      ['0', 0],
      [5, 5],
      ['5', 5],
    ]) {
      assert.equal(read(sent), expected);
    }
  });

  test('blank, null and missing mean "not given"', () => {
    for (const value of ['', ' ', null, undefined]) assert.equal(read(value) ?? null, null);
  });

  test('anything else is refused', () => {
    for (const value of [-1, '-1', 1.5, '1.5', 'abc', true, [], 2 ** 53]) {
      assert.equal(addConsumptionRequest.safeParse({ max_overages: value }).success, false, String(value));
    }
  });
});

describe('a key of a request that may be repeated', () => {
  test('is 1 to 256 printable characters', () => {
    for (const key of ['a', '0', '~!"#', 'x'.repeat(256), '5f0c-uuid']) assert.match(key, IDEMPOTENCY_KEY);
    const bad = ['', ' ', 'a b', 'x'.repeat(257), 'é', 'a\tb', 'a\n', '\u007f', '键'];
    for (const key of bad) assert.doesNotMatch(key, IDEMPOTENCY_KEY);
  });
});

describe('a request for a feature', () => {
  test('may be empty, and ignores unknown fields', () => {
    assert.deepEqual(featureRegisterRequest.parse({}), {});
    const sent = { feature: 'render', user: 'ada', borrowed_until: null, sdk_ver: '1' };
    assert.deepEqual(featureRegisterRequest.parse(sent), {
      feature: 'render',
      user: 'ada',
      borrowed_until: null,
    });
  });
});
