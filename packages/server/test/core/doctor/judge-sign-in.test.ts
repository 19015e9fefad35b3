import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Verdict } from '../../../src/core/doctor/finding.ts';
import { judgeDirectory, judgeProvider } from '../../../src/core/doctor/judge-links.ts';

const read = (verdicts: readonly Verdict[]) =>
  verdicts.map(({ severity, text, advice }) => `${severity}: ${text} ${advice ?? ''}`.trim()).join(' | ');

test('how people of the company sign in', () => {
  assert.equal(read(judgeProvider(null, null)), 'ok: Only accounts of this server sign in');
  assert.equal(read(judgeProvider('Company', null)), 'ok: The provider Company answers');
  const providerAway =
    /^warning: Nobody can sign in with the provider\. It is away\. Check auth\.oidc\.issuer/;
  assert.match(read(judgeProvider('Company', 'It is away.')), providerAway);
  assert.equal(read(judgeDirectory(null)), 'ok: The directory answers');
  const directoryAway =
    /^warning: Nobody from the directory can sign in\. It is away\. Check auth\.ldap\.url/;
  assert.match(read(judgeDirectory('It is away.')), directoryAway);
});
