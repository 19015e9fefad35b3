import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleLicense, NOW } from '../examples.ts';
import { DAY_MS, plus } from '../nouns/instant.ts';
import { type Certificate, type LicenseSource, NO_TIE } from '../nouns/license.ts';
import { judgeGrants } from './judge-grants.ts';

type Facts = Partial<Omit<Parameters<typeof judgeGrants>[0][number], 'license'>>;

function judge(days: number | null, source: LicenseSource = 'cloud', more: Facts = {}) {
  const expiresAt = plus(NOW, (days ?? 0) * DAY_MS);
  const certificate: Certificate = { texts: ['jws'], kid: 'k', issuedAt: NOW, expiresAt };
  const tie = days === null ? NO_TIE : { ...NO_TIE, certificate };
  const well = { doubts: [], uncertified: null };
  return judgeGrants([{ license: exampleLicense({ source, tie }), ...well, ...more }], NOW);
}

test('certificates that end soon, or have ended, are found', () => {
  assert.equal(judge(null)[0]?.text, 'Of 1 licenses, 0 have a certificate of the vendor');
  assert.deepEqual(
    [11, 10, 1, 0, -1].map((days) => judge(days)[0]?.severity),
    ['ok', 'warning', 'warning', 'problem', 'problem'],
  );
  assert.match(judge(3)[0]?.advice ?? '', /license sync/);
  assert.match(judge(3, 'airgap')[0]?.advice ?? '', /identity certify/);
});

test('certificates in doubt, and grants that claim more than theirs, are problems', () => {
  for (const doubts of [['certificate_wrong'], ['certificate_missing']] as const) {
    const [verdict, ...others] = judge(20, 'cloud', { doubts });
    assert.deepEqual([verdict?.severity, others], ['problem', []]);
    assert.match(verdict?.text ?? '', /key .*of this server/);
  }
  const [more] = judge(20, 'offline', { uncertified: 'limits.floating_users' });
  assert.equal(more?.severity, 'problem');
  assert.match(more?.text ?? '', /\(limits\.floating_users\)/);
  assert.match(more?.advice ?? '', /identity certify/);
});
