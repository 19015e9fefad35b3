import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateEnd } from './certificate-term.ts';
import type { Terms } from './terms.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW = Date.UTC(2026, 0, 1);

test('a certificate ends with the license and its grace at the latest', () => {
  const terms = (validUntil: number | null, graceHours = 0) => ({ validUntil, graceHours }) as Terms;
  assert.equal(certificateEnd(terms(null), 'online', NOW), NOW + 90 * DAY_MS);
  assert.equal(certificateEnd(terms(null), 'carried', NOW), NOW + 1825 * DAY_MS);
  assert.equal(certificateEnd(terms(NOW + 10 * DAY_MS), 'online', NOW), NOW + 10 * DAY_MS);
  assert.equal(certificateEnd(terms(NOW + 10 * DAY_MS, 48), 'carried', NOW), NOW + 12 * DAY_MS);
  assert.equal(certificateEnd(terms(NOW + 9999 * DAY_MS), 'carried', NOW), NOW + 1825 * DAY_MS);
});
