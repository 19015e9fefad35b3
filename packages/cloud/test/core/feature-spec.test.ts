import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseFeatureSpec } from '../../src/core/feature-spec.ts';
import { ValueError } from '../../src/core/read-values.ts';
import { NO_CONSUMPTION } from '../../src/core/terms.ts';

describe('a feature in one word', () => {
  test('with slots of its own', () => {
    assert.deepEqual(parseFeatureSpec('render, slots=2, timeout=10, borrow-hours=1.5'), {
      code: 'render',
      name: 'render',
      type: 'activation',
      consumption: NO_CONSUMPTION,
      lending: { slots: 2, timeoutMinutes: 10, borrowHours: 1.5 },
      expiresAt: null,
    });
  });

  test('that counts', () => {
    const spec =
      'export,name=Export to PDF,consumptions=100,period=monthly,overages=10,negative,expires=2027-01-01';
    assert.deepEqual(parseFeatureSpec(spec), {
      code: 'export',
      name: 'Export to PDF',
      type: 'consumption',
      consumption: { max: 100, overages: 10, allowNegative: true, period: 'monthly' },
      lending: null,
      expiresAt: Date.UTC(2027, 0, 2) - 1,
    });
  });

  test('that counts without limit', () => {
    assert.equal(parseFeatureSpec('a,consumptions=unlimited').consumption.max, null);
  });

  test('with nothing else', () => {
    const { type, lending } = parseFeatureSpec('dark-mode');
    assert.deepEqual([type, lending], ['activation', null]);
  });

  for (const [spec, sentence] of [
    ['', /is not a valid feature code/],
    ['a b', /is not a valid feature code/],
    ['a,colour=red', /has no "colour"\. Allowed: name, slots/],
    ['a,slots=1,slots=2', /"slots" twice/],
    ['a,slots=many', /"slots" cannot be "many"/],
    ['a,slots=1,timeout=0', /from 1 to 525600/],
    ['a,slots=1,consumptions=2', /either slots or consumptions/],
    ['a,timeout=5', /"timeout" without "slots"/],
    ['a,slots=1,period=daily', /"period" without "consumptions"/],
    ['a,consumptions=1,period=hourly', /daily, weekly, monthly, annually/],
    ['a,consumptions=1,negative=perhaps', /true, false/],
    ['a,expires=soon', /such as 2027-01-31/],
  ] as const) {
    test(`not "${spec}"`, () => {
      assert.throws(
        () => parseFeatureSpec(spec),
        (error) => error instanceof ValueError && sentence.test(error.message),
      );
    });
  }
});
