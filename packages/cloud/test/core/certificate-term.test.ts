import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateEnd } from '../../src/core/certificate-term.ts';
import { PLAIN_TERMS, type Terms } from '../../src/core/terms.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW = Date.UTC(2026, 0, 1);

test('a certificate ends soon, and with the license and its grace at the latest', () => {
  const daysOf = (terms: Partial<Terms>, chosen: number | null = null) =>
    (certificateEnd({ ...PLAIN_TERMS, ...terms }, chosen, NOW) - NOW) / DAY_MS;
  const ends = (days: number) => ({ validUntil: NOW + days * DAY_MS });
  assert.equal(daysOf({}), 30);
  assert.equal(daysOf({}, 365), 365, 'as the vendor chose');
  assert.equal(daysOf(ends(10)), 10);
  assert.equal(daysOf({ ...ends(10), graceHours: 48 }), 12);
  assert.equal(daysOf({ ...ends(10), graceHours: 48 }, 365), 12);
  for (const [given, days] of [
    [90, 90],
    [7, 30],
    ['90', 30],
    [1e300, 87_600],
  ] as const) {
    assert.equal(daysOf({ metadata: { max_offline_days: given } }), days, String(given));
    assert.equal(daysOf({ metadata: { max_offline_days: given }, ...ends(20) }), 20);
  }
});
