import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { START } from '../../../../test/support/test-app.ts';
import type { LdapEntry } from '../../src/providers/ldap-account.ts';
import { listMembers, MAX_MEMBERS } from '../../src/providers/ldap-members.ts';

/** A directory that has these entries. Names that are asked for and not there have no values. */
function ask(entries: Readonly<Record<string, LdapEntry>>, groups: readonly string[] = ['cn=cad']) {
  const read = async (dn: string, attributes: readonly string[]) => {
    const entry = entries[dn.toLowerCase()];
    const empty = Object.fromEntries(attributes.map((name) => [name.toLowerCase(), []]));
    return entry === undefined ? null : { ...empty, ...entry };
  };
  return listMembers(read, groups, 'sAMAccountName', START);
}

const person = (name: string): LdapEntry => ({ objectclass: ['user'], samaccountname: [name] });
const group = (...member: readonly string[]): LdapEntry => ({
  objectclass: ['top', 'group'],
  samaccountname: ['a group has one, too'],
  member,
});

/** The members, or what is wrong. */
async function answerOf(entries: Readonly<Record<string, LdapEntry>>) {
  const [answer] = await ask(entries);
  assert.equal(answer?.dn, 'cn=cad');
  return 'members' in answer ? answer.members : answer.problem;
}

const PEOPLE = { 'cn=ann': person('ann'), 'cn=bob': person('bob') };

describe('members of a group', () => {
  test('are called by the attribute with their names, whichever list has them', async () => {
    assert.deepEqual(await answerOf({ 'cn=cad': group('cn=ann', 'CN=Bob'), ...PEOPLE }), ['ann', 'bob']);
    const unique = { objectclass: ['groupOfUniqueNames'], uniquemember: ['cn=ann'] };
    assert.deepEqual(await answerOf({ 'cn=cad': unique, ...PEOPLE }), ['ann']);
    const posix = { objectclass: ['posixGroup'], memberuid: ['ann', 'eve'] };
    assert.deepEqual(await answerOf({ 'cn=cad': posix }), ['ann', 'eve']);
  });

  test('may be in groups within it, even if these contain each other', async () => {
    const inner = { 'cn=inner': group('cn=bob', 'cn=cad', 'cn=empty'), 'cn=empty': group() };
    assert.deepEqual(await answerOf({ 'cn=cad': group('cn=ann', 'cn=inner'), ...inner, ...PEOPLE }), [
      'ann',
      'bob',
    ]);
  });

  test('may be none', async () => {
    assert.deepEqual(await answerOf({ 'cn=cad': group() }), []);
    assert.deepEqual(await answerOf({ 'cn=cad': group('') }), [], 'which some directories need');
    assert.deepEqual(await answerOf({ 'cn=cad': group('cn=inner'), 'cn=inner': group() }), []);
  });

  test('may have left the company', async () => {
    assert.deepEqual(await answerOf({ 'cn=cad': group('cn=ann', 'cn=gone'), ...PEOPLE }), ['ann']);
  });

  test('may come in parts', async () => {
    const names = Array.from({ length: 3200 }, (_, n) => `cn=p${n}`);
    const people = Object.fromEntries(names.map((dn) => [dn, person(dn.slice(3))]));
    const part = (from: number, to: number) => ({
      [`member;range=${from}-${to}`]: names.slice(from, to + 1),
    });
    const parts: Record<string, LdapEntry> = {
      'member;range=1500-*': part(1500, 2999),
      'member;range=3000-*': { 'member;range=3000-*': names.slice(3000) },
    };
    const read = async (dn: string, attributes: readonly string[]) => {
      if (dn !== 'cn=cad') return people[dn] ?? null;
      const empty = Object.fromEntries(attributes.map((name) => [name, []]));
      const first = { objectclass: ['group'], ...part(0, 1499) };
      return { ...empty, ...(attributes.length > 1 ? first : parts[attributes[0] as string]) };
    };
    const [answer] = await listMembers(read, ['cn=cad'], 'sAMAccountName', START);
    assert.ok(answer !== undefined && 'members' in answer);
    assert.deepEqual(
      answer.members,
      names.map((dn) => dn.slice(3)),
    );
    delete parts['member;range=3000-*'];
    const [cut] = await listMembers(read, ['cn=cad'], 'sAMAccountName', START);
    assert.ok(cut !== undefined && 'problem' in cut);
    assert.match(cut.problem, /only a part/);
  });
});

describe('a group is not answered', () => {
  test('if it is not there, beside others that are', async () => {
    const answers = await ask({ 'cn=cad': group('cn=ann'), ...PEOPLE }, ['cn=gone', 'cn=cad']);
    assert.deepEqual(answers, [
      { dn: 'cn=gone', problem: 'The directory has no group with this name, or does not show it.' },
      { dn: 'cn=cad', members: ['ann'] },
    ]);
  });

  test('if none of its members can be read', async () => {
    const hidden = await answerOf({ 'cn=cad': group('cn=ann', 'cn=bob') });
    const none = 'The directory shows "sAMAccountName" of none of its members.';
    assert.equal(hidden, none);
    const nameless = { objectclass: ['user'] };
    assert.equal(
      await answerOf({ 'cn=cad': group('cn=ann'), 'cn=ann': nameless }),
      none,
      'a wrong attribute',
    );
  });

  test('if it is something else', async () => {
    assert.equal(await answerOf({ 'cn=cad': person('ann') }), 'It is no group.');
    const own = { objectclass: ['ourGroup'], member: ['cn=ann'] };
    assert.deepEqual(await answerOf({ 'cn=cad': own, ...PEOPLE }), ['ann']);
  });

  test('if it has too many members', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => `cn=p${n}`);
    const more = `It has more than ${MAX_MEMBERS} members.`;
    assert.equal(await answerOf({ 'cn=cad': group(...many(MAX_MEMBERS + 1)) }), more);
    const posix = { objectclass: ['posixGroup'], memberuid: many(MAX_MEMBERS + 1) };
    assert.equal(await answerOf({ 'cn=cad': posix }), more);
  });

  test('if it has too many, but those after it are', async () => {
    const huge = group(...Array.from({ length: 60_000 }, (_, n) => `cn=p${n}`));
    const answers = await ask({ 'cn=huge': huge, 'cn=cad': group('cn=ann'), ...PEOPLE }, [
      'cn=huge',
      'cn=cad',
    ]);
    assert.deepEqual(answers[1], { dn: 'cn=cad', members: ['ann'] });
  });

  test('if all groups together have too many', async () => {
    const logins = {
      objectclass: ['posixGroup'],
      memberuid: Array.from({ length: 9000 }, (_, n) => `p${n}`),
    };
    const posix = Array.from({ length: 6 }, (_, n) => `cn=g${n}`);
    const told = await ask(Object.fromEntries(posix.map((dn) => [dn, logins])), posix);
    assert.equal(told.filter((one) => 'members' in one).length, 5);

    const names = Array.from({ length: MAX_MEMBERS }, (_, n) => `cn=p${n}`);
    const groups = Array.from({ length: 6 }, (_, n) => `cn=g${n}`);
    const read = async (dn: string) => (groups.includes(dn) ? group(...names) : person(dn));
    const answers = await listMembers(read, groups, 'sAMAccountName', START);
    assert.deepEqual(
      answers.map((one) => 'members' in one),
      [true, true, true, true, true, false],
    );
  });
});
