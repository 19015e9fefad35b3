import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GrantKey } from '../../../src/core/nouns/grant-key.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type Certificate, type License, NO_TIE } from '../../../src/core/nouns/license.ts';
import { rotateGrantKey } from '../../../src/core/system/secrets.ts';
import { exampleFeature, exampleLicense, expectRefused, NOW } from '../examples.ts';

const command = { kind: 'rotate_grant_key', kid: 'k2', privateKey: 'p2', by: 'ada' } as const;
const FIRST: GrantKey = { kid: 'k1', privateKey: 'p1', createdAt: NOW, endsAt: null };

function rotate(
  grantKeys: readonly GrantKey[],
  licenses: readonly License[] = [],
  now = NOW,
  isFirst = false,
) {
  const { outcome, changes, events } = rotateGrantKey.decide(
    { ...command, isFirst },
    { grantKeys, licenses },
    now,
  );
  const [change] = changes;
  const keys = change?.kind === 'put_secret' ? (JSON.parse(change.secret) as GrantKey[]) : null;
  return { outcome, keys, events };
}

describe('the keys of grants', () => {
  test('begin with one', () => {
    const { keys, events } = rotate([], [], NOW, true);
    assert.deepEqual(keys, [{ kid: 'k2', privateKey: 'p2', createdAt: NOW, endsAt: null }]);
    assert.deepEqual(events, []);
    assert.equal(rotate([FIRST], [], NOW, true).keys, null, 'another server may have made it');
  });

  test('keep the replaced one until everything has ended that it may have signed', () => {
    const endOf = (license: Partial<License>): Instant | null | undefined => {
      const { keys, events } = rotate([FIRST], [exampleLicense(license)]);
      assert.deepEqual(events, [{ kind: 'grant_key_rotated', kid: 'k2', replaced: 'k1', by: 'ada' }]);
      assert.deepEqual([keys?.[0]?.kid, keys?.[0]?.endsAt, keys?.[1]?.kid], ['k2', null, 'k1']);
      return keys?.[1]?.endsAt;
    };
    const none = { timeoutMinutes: 10, maxBorrowHours: 0, features: [] };
    assert.equal(endOf(none), plus(NOW, HOUR_MS + 10 * MINUTE_MS));
    assert.equal(endOf({ ...none, maxBorrowHours: 48 }), plus(NOW, HOUR_MS + 2 * DAY_MS));
    const floating = { slots: 1, timeoutMinutes: 10, canBorrow: true, maxBorrowHours: 72 };
    const features = [exampleFeature('render', { floating })];
    assert.equal(endOf({ ...none, features }), plus(NOW, HOUR_MS + 3 * DAY_MS));
    const expiresAt = plus(NOW, 30 * DAY_MS);
    const certificate: Certificate = { texts: ['jws'], kid: 'k1', issuedAt: NOW, expiresAt };
    assert.equal(
      endOf({ ...none, tie: { ...NO_TIE, certificate } }),
      plus(expiresAt, HOUR_MS + 10 * MINUTE_MS),
      'it goes on signing while its certificate is valid',
    );
    assert.equal(
      endOf({ ...none, tie: { ...NO_TIE, certificate: { ...certificate, kid: 'k0' } } }),
      plus(NOW, HOUR_MS + 10 * MINUTE_MS),
    );
  });

  test('lose those that have ended, and keep the end of the others', () => {
    const [early, late] = [plus(NOW, 1), plus(NOW, 2)];
    const before = [FIRST, { ...FIRST, kid: 'k0', endsAt: late }, { ...FIRST, kid: 'kx', endsAt: early }];
    const { keys } = rotate(before, [], early);
    assert.deepEqual(
      keys?.map(({ kid }) => kid),
      ['k2', 'k1', 'k0'],
    );
    assert.equal(keys?.[2]?.endsAt, late);
  });

  test('are not more than clients can be expected to read', () => {
    const many = Array.from({ length: 16 }, (_, n) => ({ ...FIRST, kid: `k${n}`, endsAt: plus(NOW, 5) }));
    assert.equal(rotate(many.slice(1)).keys?.length, 16);
    const { outcome, keys } = rotate(many);
    assert.deepEqual([expectRefused(outcome).code, keys], ['too_many_grant_keys', null]);
    assert.equal(rotate(many, [], plus(NOW, 5)).keys?.length, 1);
  });
});
