import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeGrants } from '../../../src/core/doctor/judge-grants.ts';
import { DAY_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type Certificate, type LicenseSource, NO_TIE } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../examples.ts';

function judge(days: number | null, source: LicenseSource = 'cloud', uncertified: string | null = null) {
  const expiresAt = plus(NOW, (days ?? 0) * DAY_MS);
  const certificate: Certificate = { texts: ['jws'], kid: 'k', issuedAt: NOW, expiresAt };
  const tie = days === null ? NO_TIE : { ...NO_TIE, certificate };
  return judgeGrants(
    { licenses: [{ license: exampleLicense({ source, tie }), uncertified }], doubts: [] },
    NOW,
  );
}

test('certificates that end soon, or have ended, are found', () => {
  assert.equal(judge(null)[0]?.text, 'Of 1 licenses, 0 have a certificate of the vendor');
  assert.deepEqual(
    [11, 10, 1, 0, -1].map((days) => judge(days)[0]?.severity),
    ['ok', 'warning', 'warning', 'problem', 'problem'],
  );
  assert.match(judge(3)[0]?.text ?? '', /^The certificate for the grants of license 7 ends on /);
  assert.match(judge(3)[0]?.advice ?? '', /license sync/);
  assert.match(judge(3, 'airgap')[0]?.advice ?? '', /identity certify/);
});

test('certificates in doubt are problems, even if the license could not be added', () => {
  for (const kind of ['certificate_wrong', 'certificate_missing'] as const) {
    const [verdict, ...others] = judgeGrants({ licenses: [], doubts: [{ kind, licenseId: 9 }] }, NOW);
    assert.deepEqual([verdict?.severity, others], ['problem', []]);
    assert.match(verdict?.text ?? '', /key .*of this server for license 9/);
  }
});

test('grants that claim more than their certificate are a problem', () => {
  const [more] = judge(20, 'offline', 'limits.floating_users');
  assert.equal(more?.severity, 'problem');
  assert.match(more?.text ?? '', /\(limits\.floating_users\)/);
  assert.match(more?.advice ?? '', /identity certify/);
});
