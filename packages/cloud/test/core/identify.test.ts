import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Command, UserProof } from '../../src/core/command.ts';
import { identify } from '../../src/core/identify.ts';
import type { License } from '../../src/core/license.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { PLAIN_TERMS } from '../../src/core/terms.ts';

const LICENSE: License = {
  id: 1001,
  key: 'K',
  product: { id: 1000, code: 'crm', name: 'CRM', authorizationMethod: 'user', metadata: {} },
  user: { name: 'ann', passwordHash: 'hash-2' },
  customer: null,
  isEnabled: true,
  isActive: true,
  transferCount: 0,
  terms: PLAIN_TERMS,
};

function check(password: UserProof['password']): Command {
  const proof = { kind: 'user', name: 'ann', password } as const;
  return { kind: 'check', who: { product: 'crm', hardwareId: 'm', licenseId: null, proof } };
}

describe('a password', () => {
  test('counts if it matches the license as it is now', () => {
    assert.equal(identify(check({ fits: 'hash-2' }), LICENSE, true), LICENSE);
  });

  test('that was replaced during the check does not count', () => {
    assert.ok(isRefusal(identify(check({ fits: 'hash-1' }), LICENSE, true)));
  });
});
