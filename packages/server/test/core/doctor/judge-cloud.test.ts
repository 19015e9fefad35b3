import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judgeCloud } from '../../../src/core/doctor/judge-links.ts';
import { DAY_MS, HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { licenseId, NO_ASSURANCE, NO_TIE } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../examples.ts';
import { readVerdicts as read } from './read-verdicts.ts';

/** The cloud answered for license 12 instead, for a day. */
function doubted(checks: number) {
  const doubt = { otherId: licenseId(12), since: plus(NOW, -DAY_MS), checks, stopsLending: checks === 3 };
  const tie = { ...NO_TIE, assurance: { ...NO_ASSURANCE, doubt } };
  return exampleLicense({ tie });
}

describe('the cloud', () => {
  const CLOUD = {
    state: 'ok',
    reachedAt: NOW,
    failingAt: null,
    error: null,
    pending: 7,
    reportsUncertain: 0,
    licenses: [exampleLicense()],
    checkMinutes: 60,
    now: NOW,
  } as const;
  for (const [title, facts, expected] of [
    ['fine', {}, /^ok: .*7 of consumption/],
    ['finer', { pending: 0 }, /^ok: The licensing cloud answers and accepts the keys$/],
    ['missing for one', { state: 'not_configured' }, /^problem: A license comes from a licensing cloud/],
    ['without keys', { state: 'no_keys' }, /^problem: The keys .* are not set\.$/],
    ['refuses, unknown since when', { state: 'refused', error: { message: 'no' } }, /refuses the keys: no$/],
    [
      'fails',
      { state: 'failing', error: { message: 'no' }, failingAt: NOW },
      /^problem: .*not work \(since .*: no$/,
    ],
    ['late, and not tried', { state: 'untried', now: plus(NOW, 3 * HOUR_MS) }, /^warning: /],
    ['late, and nothing comes from it', { licenses: [], now: plus(NOW, 3 * HOUR_MS) }, /^ok: /],
    ['never reached', { reachedAt: null }, /^ok: /],
    ['late within an hour', { checkMinutes: 1, now: plus(NOW, HOUR_MS - 1) }, /^ok: /],
    ['late after an hour', { checkMinutes: 1, now: plus(NOW, HOUR_MS) }, /^warning: .*60 minutes ago/],
    ['not used', { state: 'not_configured', licenses: [] }, /^ok: /],
    [
      'missing',
      { state: 'not_configured', licenses: [exampleLicense(), exampleLicense()] },
      /^problem: 2 licenses come/,
    ],
    ['refuses', { state: 'refused', error: { message: 'no' }, failingAt: NOW }, /^problem: .*refuses.*since/],
    ['late', { now: plus(NOW, 3 * HOUR_MS) }, /^warning: .*last reached 3 hours ago/],
    ['not late yet', { now: plus(NOW, 3 * HOUR_MS - 1) }, /^ok: /],
    [
      'about another license',
      { licenses: [doubted(1)] },
      /^problem: .*license 12 .*7 of "cad".*if that goes on/,
    ],
    [
      'for long',
      { licenses: [doubted(3)], state: 'failing' },
      /^problem: .*no new slots\.\n?[\s\S]*problem: /,
    ],
    ['uncertain', { reportsUncertain: 2 }, /^warning: Of 2 reports/],
  ] as const) {
    test(title, () => assert.match(read(judgeCloud({ ...CLOUD, ...facts })), expected));
  }
});
