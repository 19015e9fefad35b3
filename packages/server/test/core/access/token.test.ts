import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROLES } from '@berth/protocol/admin/choices';
import { refuseIfOver } from '../../../src/core/access/one-time-password.ts';
import { includesRole } from '../../../src/core/access/role.ts';
import {
  isTokenAlive,
  isTouchDue,
  SESSION_LIFETIME_MS,
  TOKEN_LIFETIME_MS,
  type Token,
  type TokenKind,
  tokenIdOf,
} from '../../../src/core/access/token.ts';
import { DAY_MS, HOUR_MS, type Instant, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../examples.ts';

const token = (kind: TokenKind, expiresAt: Instant | null = null): Token => ({
  id: 'id',
  kind,
  account: null,
  name: null,
  products: null,
  role: 'user',
  issuedAt: NOW,
  usedAt: NOW,
  isUsed: true,
  expiresAt,
  restriction: null,
});

describe('a token', () => {
  const lifetimes: [string, Token, number][] = [
    ['from /auth lives for thirty days after its last use', token('auth'), 30 * DAY_MS],
    ['of a browser lives for twelve hours', token('session'), 12 * HOUR_MS],
    [
      'of somebody in a directory lives for twelve hours',
      { ...token('auth'), account: 'ldap:ann' },
      12 * HOUR_MS,
    ],
    ['with an end lives until then', token('api', plus(NOW, HOUR_MS)), HOUR_MS],
  ];
  for (const [title, mine, lifetimeMs] of lifetimes) {
    test(title, () => {
      assert.equal(isTokenAlive(mine, plus(NOW, lifetimeMs - 1)), true);
      assert.equal(isTokenAlive(mine, plus(NOW, lifetimeMs)), false);
    });
  }

  test('with a name and without an end is valid until it is revoked', () => {
    assert.equal(isTokenAlive(token('api'), plus(NOW, 100 * TOKEN_LIFETIME_MS)), true);
  });

  test('of a browser is not extended by use', () => {
    const used = { ...token('session'), usedAt: plus(NOW, SESSION_LIFETIME_MS - 1) };
    assert.equal(isTokenAlive(used, plus(NOW, SESSION_LIFETIME_MS)), false);
  });

  test('records its first use, and then one an hour', () => {
    assert.equal(isTouchDue({ ...token('api'), isUsed: false }, NOW), true);
    assert.equal(isTouchDue(token('auth'), plus(NOW, HOUR_MS - 1)), false);
    assert.equal(isTouchDue(token('auth'), plus(NOW, HOUR_MS)), true);
  });
});

test('the id of a token is the beginning of its hash', () => {
  assert.equal(tokenIdOf('0123456789abcdef'), '0123456789ab');
});

test('a one-time password is over after a week', () => {
  const refuseAfter = (ms: number) =>
    refuseIfOver('invalid_credentials', 'ada', { madeAt: NOW, isUsed: false }, plus(NOW, ms));
  assert.equal(refuseAfter(7 * DAY_MS - 1), null);
  assert.match(
    refuseAfter(7 * DAY_MS)?.message ?? '',
    /older than 7 days.*"berth user password ada --one-time"/,
  );
  assert.equal(refuseIfOver('invalid_credentials', 'ada', null, NOW), null);
});

describe('a role', () => {
  test('includes itself and every lesser one, but who only looks asks for no slots', () => {
    const table = ROLES.map((role) => ROLES.map((needed) => includesRole(role, needed)));
    assert.deepEqual(ROLES, ['user', 'viewer', 'operator', 'admin']);
    assert.deepEqual(table, [
      [true, false, false, false],
      [false, true, false, false],
      [true, true, true, false],
      [true, true, true, true],
    ]);
    assert.ok(ROLES.every((role) => includesRole(role, null)));
  });
});
