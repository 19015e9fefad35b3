import assert from 'node:assert/strict';
import type { Verdict } from '../../../src/core/doctor/finding.ts';

/** The severities, and the texts in one. Whatever is wrong comes with advice. */
export function readVerdicts(verdicts: readonly Verdict[]): string {
  for (const { severity, text, advice } of verdicts) {
    assert.notEqual(text, '');
    if (severity === 'ok') assert.equal(advice, null, text);
    else assert.match(advice ?? '', /^[A-Z].*\.$/, text);
  }
  return verdicts.map(({ severity, text }) => `${severity}: ${text}`).join(' | ');
}
