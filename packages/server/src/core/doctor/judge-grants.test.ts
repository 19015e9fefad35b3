import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleLicense, NOW } from '../examples.ts';
import { DAY_MS, plus } from '../nouns/instant.ts';
import { type LicenseSource, NO_TIE } from '../nouns/license.ts';
import { judgeGrants } from './judge-grants.ts';

function judge(days: number | null, source: LicenseSource = 'cloud') {
  const certificate = { text: 'jws', kid: 'k', issuedAt: NOW, expiresAt: plus(NOW, (days ?? 0) * DAY_MS) };
  const tie = days === null ? NO_TIE : { ...NO_TIE, certificate };
  return judgeGrants([exampleLicense({ source, tie })], NOW);
}

test('certificates that end soon, or have ended, are found', () => {
  assert.equal(judge(null)[0]?.text, 'Of 1 licenses, 0 have a certificate of the vendor');
  assert.deepEqual(
    [31, 30, 1, 0, -1].map((days) => judge(days)[0]?.severity),
    ['ok', 'warning', 'warning', 'problem', 'problem'],
  );
  assert.match(judge(3)[0]?.advice ?? '', /license sync/);
  assert.match(judge(3, 'airgap')[0]?.advice ?? '', /identity certify/);
});
