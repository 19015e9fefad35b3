import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReadableName } from '../../../src/core/access/person.ts';
import { normalizeDn, roleOfGroups, sayNoRole } from '../../../src/core/access/role-of-groups.ts';

const ROLES = { admins: ['a', 'b'], operators: ['o', 'a'], viewers: ['v', 'o'] };

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
    assert.equal(roleOfGroups(groups.split(' '), ROLES), role, groups);
  }
  assert.equal(roleOfGroups([], ROLES), null);
  assert.equal(roleOfGroups(['constructor', '__proto__', ''], ROLES), null);
});

test('a refusal names five groups, and how many more there are', () => {
  const six = ['1', '2', '3', '4', '5', '6'];
  assert.match(
    sayNoRole('ann', six.slice(1), 'auth.x'),
    /are: "2", "3", "4", "5", "6"\. .*"auth\.x\.viewers"\.$/,
  );
  assert.match(sayNoRole('ann', six, 'auth.x'), /"5" and 1 more\. /);
  assert.match(sayNoRole('ann', [], 'auth.x'), /^"ann" has no role here\. Their groups are: none\. /);
});

test('names in a directory are the same in any case, with any blanks between their parts', () => {
  assert.equal(normalizeDn('CN = Berth Admins , OU=Groups,DC=x'), 'cn=berth admins,ou=groups,dc=x');
  assert.notEqual(normalizeDn('cn=a,ou=b'), normalizeDn('cn=a,ou=c'));
  assert.notEqual(normalizeDn('cn=a b'), normalizeDn('cn=ab'));
});

test('names are readable, or they are not shown', () => {
  for (const name of ['ann', 'Änne Müller', 'ann@example.com', '安', 'x'.repeat(255)]) {
    assert.equal(isReadableName(name), true, name);
  }
  for (const name of ['', ' ann', 'ann ', 'a\nb', 'a\u202eb', 'a\u0000', '\ud800', 'x'.repeat(256)]) {
    assert.equal(isReadableName(name), false, JSON.stringify(name));
  }
});
