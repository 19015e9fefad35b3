import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReadableName } from '../../../src/core/access/person.ts';
import {
  normalizeDn,
  normalizeGroups,
  roleOfGroups,
  sayNoRole,
} from '../../../src/core/access/role-of-groups.ts';

const ROLES = {
  admins: ['a', 'b'],
  operators: ['o', 'a'],
  productOperators: ['cad=c', ' cam = c ', 'cam=m', 'pdm=cn=x,ou=y', 'cad=a'],
  viewers: ['v', 'o'],
};

test('the highest role of several groups counts', () => {
  const cases = {
    a: 'admin',
    b: 'admin',
    o: 'operator',
    v: 'viewer',
    'v o': 'operator',
    'x v b': 'admin',
    x: null,
  };
  for (const [groups, role] of Object.entries(cases)) {
    assert.equal(roleOfGroups(groups.split(' '), ROLES)?.role ?? null, role, groups);
  }
  assert.equal(roleOfGroups([], ROLES), null);
  assert.equal(roleOfGroups(['constructor', '__proto__', ''], ROLES), null);
});

test('groups of products limit operators to all of them together, unless another group does not', () => {
  const cases = {
    c: 'operator cad cam',
    'm v': 'operator cam',
    'm c': 'operator cad cam',
    'cn=x,ou=y m': 'operator cam pdm',
    'c o': 'operator all',
    'c a': 'admin all',
    v: 'viewer all',
    'cad=c': 'undefined all',
  };
  for (const [groups, expected] of Object.entries(cases)) {
    const { role, products = null } = roleOfGroups(groups.split(' '), ROLES) ?? {};
    assert.equal(`${role} ${products?.join(' ') ?? 'all'}`, expected, groups);
  }
  const productOperators = ['cad=CN=Cad Team, OU=Groups'];
  const normal = normalizeGroups({ ...ROLES, productOperators });
  assert.deepEqual(normal.productOperators, ['cad=cn=cad team,ou=groups']);
});

test('a refusal names five groups, and how many more there are', () => {
  const six = ['1', '2', '3', '4', '5', '6'];
  assert.match(
    sayNoRole('ann', six.slice(1), 'auth.x'),
    /are: "2", "3", "4", "5", "6"\. .*"auth\.x\.productOperators" or "auth\.x\.viewers"\.$/,
  );
  assert.match(sayNoRole('ann', six, 'auth.x'), /"5" and 1 more\. /);
  assert.match(sayNoRole('ann', [], 'auth.x'), /^"ann" has no role here\. Their groups are: none\. /);
});

test('names in a directory are the same in any case, with any blanks between their parts', () => {
  assert.equal(normalizeDn('CN = Berth Admins , OU=Groups,DC=x'), 'cn=berth admins,ou=groups,dc=x');
  assert.notEqual(normalizeDn('cn=a,ou=b'), normalizeDn('cn=a,ou=c'));
  assert.notEqual(normalizeDn('cn=a b'), normalizeDn('cn=ab'));
});

test('names in a directory are the same however their characters are escaped', () => {
  for (const [one, other] of [
    ['cn=a\\,b,dc=x', 'CN=A\\2Cb, dc=x'],
    ['cn=a\\+b', 'cn=a\\2bb'],
    ['cn=a\\=b', 'cn=a=b'],
    ['cn=\\C3\\84nne', 'cn=änne'],
    ['cn=\\41nn', 'cn=ann'],
    ['cn=a\\\\b', 'cn=a\\5cb'],
    ['cn=a \\  b', 'cn=a b'],
    ['cn=\\ a', 'cn= \\20a'],
    ['cn=a+uid=b,dc=x', 'UID=b + CN=a , dc=x'],
    ['cn=\\"a\\"', 'cn=\\22a\\22'],
  ] as const) {
    assert.equal(normalizeDn(one), normalizeDn(other), `${one} and ${other}`);
  }
});

test('names in a directory differ if a character that separates is escaped in one of them', () => {
  for (const [one, other] of [
    ['cn=a\\,dc=x', 'cn=a,dc=x'],
    ['cn=a\\2cdc=x', 'cn=a,dc=x'],
    ['cn=a\\+uid=b', 'cn=a+uid=b'],
    ['cn=a\\\\,dc=x', 'cn=a\\,dc=x'],
    ['cn=a\\ ,dc=x', 'cn=a,dc=x'],
    ['cn=a\\5c,dc=x', 'cn=a\\,dc=x'],
    ['cn=a\\\\2c', 'cn=a\\2c'],
    ['cn=\\ff', 'cn=\\fe'],
    ['cn=\\ff', 'cn=ff'],
    ['cn=a = b', 'cn=a=b'],
    ['cn=a', 'a'],
    ['cn=', ''],
  ] as const) {
    assert.notEqual(normalizeDn(one), normalizeDn(other), `${one} and ${other}`);
  }
});

test('a name in a directory may be very long, and anything at all', () => {
  assert.equal(normalizeDn('cn=a,'.repeat(20_000)).length, 100_001);
  for (const name of ['', ' ', '\\', '=', ',', '+', '\\,', '\\\\', '==', 'a\\', '\ud800']) {
    assert.equal(typeof normalizeDn(name), 'string', name);
  }
});

test('names are readable, or they are not shown', () => {
  for (const name of ['ann', 'Änne Müller', 'ann@example.com', '安', 'x'.repeat(255)]) {
    assert.equal(isReadableName(name), true, name);
  }
  for (const name of ['', ' ann', 'ann ', 'a\nb', 'a\u202eb', 'a\u0000', '\ud800', 'x'.repeat(256)]) {
    assert.equal(isReadableName(name), false, JSON.stringify(name));
  }
});
