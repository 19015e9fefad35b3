import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changeTerms, findFaultInChange, type TermsChange } from '../../src/core/change-terms.ts';
import { parseFeatureSpec } from '../../src/core/feature-spec.ts';
import { PLAIN_TERMS, type Terms } from '../../src/core/terms.ts';

const JUNE = Date.UTC(2026, 5, 1);
const JULY = Date.UTC(2026, 6, 1);

function createIds(): () => number {
  let next = 1;
  return () => next++;
}

function change(terms: Terms, wanted: TermsChange): Terms {
  return changeTerms(terms, wanted, createIds());
}

describe('the type of a license', () => {
  for (const [title, wanted, type] of [
    ['perpetual by default', {}, 'perpetual'],
    ['time-limited with an end', { validUntil: JULY }, 'time-limited'],
    ['consumption with a maximum', { consumption: { max: 5 } }, 'consumption'],
    ['consumption without any', { consumption: { max: null } }, 'consumption'],
    ['consumption, even with an end', { consumption: { max: 5 }, validUntil: JULY }, 'consumption'],
    ['what was requested', { type: 'subscription', validUntil: JULY }, 'subscription'],
  ] as const) {
    test(title, () => assert.equal(change(PLAIN_TERMS, wanted).type, type));
  }

  test('changes when its end is removed', () => {
    const limited = change(PLAIN_TERMS, { validUntil: JULY });
    assert.equal(change(limited, { validUntil: null }).type, 'perpetual');
  });

  test('that no longer counts has no limits', () => {
    const counting = change(PLAIN_TERMS, { consumption: { max: 5 } });
    assert.equal(change(counting, { type: 'perpetual' }).consumption.max, 0);
  });
});

describe('changing terms', () => {
  test('leaves what is not mentioned unchanged', () => {
    const before = change(PLAIN_TERMS, {
      slots: 5,
      borrowHours: 24,
      company: 'ACME',
      consumption: { max: 7 },
    });
    const after = change(before, { slots: 6 });
    assert.deepEqual(after, { ...before, lending: { slots: 6, timeoutMinutes: 60, borrowHours: 24 } });
  });

  test('keeps the id of a feature that is replaced, and removes others by name', () => {
    const takeId = createIds();
    const features = [parseFeatureSpec('a,slots=1'), parseFeatureSpec('b,slots=1')];
    const before = changeTerms(PLAIN_TERMS, { features }, takeId);
    const wanted = { features: [parseFeatureSpec('a,slots=9')], withoutFeatures: ['b'] };
    const after = changeTerms(before, wanted, takeId);
    assert.deepEqual(
      after.features.map(({ id, code, lending }) => [id, code, lending?.slots]),
      [[1, 'a', 9]],
    );
  });

  test('stores the days without a check in the metadata', () => {
    const before = change(PLAIN_TERMS, { metadata: { tier: 'gold' } });
    assert.deepEqual(change(before, { maxOfflineDays: 30 }).metadata, { tier: 'gold', max_offline_days: 30 });
  });
});

describe('changes that make no sense', () => {
  for (const [wanted, sentence] of [
    [{ type: 'perpetual', validUntil: JULY }, /does not end/],
    [{ type: 'time-limited' }, /needs an end/],
    [{ graceHours: 5 }, /A grace period needs an end/],
    [{ startsAt: JULY, validUntil: JUNE }, /end before it starts/],
    [{ timeoutMinutes: 5 }, /--slots/],
    [{ type: 'perpetual', consumption: { max: 5 } }, /does not count consumption/],
    [{ consumption: { overages: 5 } }, /--consumptions/],
    [{ withoutFeatures: ['a'] }, /no feature "a"/],
  ] as const) {
    test(JSON.stringify(wanted), () => {
      const after = change(PLAIN_TERMS, wanted);
      assert.match(findFaultInChange(PLAIN_TERMS, wanted, after) ?? '', sentence);
    });
  }

  test('accepts plain ones', () => {
    const wanted: TermsChange = { slots: 5, timeoutMinutes: 10, validUntil: JULY, graceHours: 24 };
    assert.equal(findFaultInChange(PLAIN_TERMS, wanted, change(PLAIN_TERMS, wanted)), null);
  });
});
