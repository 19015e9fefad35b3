import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_RULES } from '../../../src/core/rules/rules.ts';
import { parseRules, RulesError } from '../../../src/services/access/parse-rules.ts';
import { denying } from '../../core/examples.ts';

describe('a rules file', () => {
  test('names users, hosts and addresses', () => {
    const text = `
# who left
deny:
  users: [mallory, "ext-*", 007, no, null]
  hosts:
    - lab-*
  addresses: [10.0.0.0/8, "2001:db8::/32", 192.0.2.7]
`;
    assert.deepEqual(
      parseRules(text),
      denying({
        users: ['mallory', 'ext-*', '007', 'no', 'null'],
        hosts: ['lab-*'],
        addresses: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'],
      }),
    );
  });

  test('may bar nobody, in every notation', () => {
    for (const text of ['deny: {}', 'deny:', '{}', '# nobody', 'deny:\n  users:\n  hosts: []\n#  - lab-1']) {
      assert.equal(parseRules(text), NO_RULES, text);
    }
  });

  for (const [title, text, sentence] of [
    ['empty', ' \n', /^it is empty\. To bar nobody, write "deny: \{\}"/],
    ['an unknown name', 'denny: {}', /^in line 1, "denny" is unknown\. Did you mean "deny"\?$/],
    [
      'an unknown list',
      'deny: {user: [ada]}',
      /^in line 1, "deny\.user" is unknown\. Did you mean "users"\?$/,
    ],
    [
      'a line further down',
      'deny:\n  users:\n    - ada\n    - ""',
      /^in line 4, "deny\.users\[1\]" is empty\.$/,
    ],
    ['no section', '- ada', /^in line 1, it must contain "deny"\.$/],
    ['a text for a section', 'deny: ada', /^in line 1, "deny" must contain "users", "hosts", "addresses"\.$/],
    ['a text for a list', 'deny: {users: ada}', /^in line 1, "deny\.users" must be a list\.$/],
    ['a list in a list', 'deny: {users: [a, [b]]}', /^in line 1, "deny\.users\[1\]" must be text\.$/],
    ['a pair in a list', 'deny: {users: [a: b]}', /^in line 1, "deny\.users\[0\]" must be text\.$/],
    ['an empty name', 'deny: {hosts: [""]}', /^in line 1, "deny\.hosts\[0\]" is empty\.$/],
    [
      'a control character',
      'deny: {hosts: ["a\\tb"]}',
      /^in line 1, "deny\.hosts\[0\]" contains a control character\.$/,
    ],
    [
      'a long name',
      `deny: {users: [${'x'.repeat(257)}]}`,
      /^in line 1, "deny\.users\[0\]" is longer than 256/,
    ],
    [
      'no address',
      'deny: {addresses: [10.0.0.1, 10.0.0]}',
      /^in line 1, "deny\.addresses\[1\]" is "10\.0\.0", which is not/,
    ],
    [
      'a pattern for an address',
      'deny: {addresses: ["10.*"]}',
      /^in line 1, "deny\.addresses\[0\]" is "10\.\*", which/,
    ],
    ['too wide a mask', 'deny: {addresses: [10.0.0.0/33]}', /^in line 1, "deny\.addresses\[0\]"/],
    ['no YAML', 'deny: [', /^it is not valid YAML: .+\.$/],
    [
      'the same list twice',
      'deny:\n  users: [a]\n  users: [b]',
      /^it is not valid YAML: Map keys must be unique/,
    ],
    ['a star without quotes', 'deny: {users: [*-lab]}', /Quote names that begin with "\*"\.$/],
    ['two documents', 'deny: {}\n---\ndeny: {}', /^it is not valid YAML/],
    [
      'too many',
      `deny: {users: [${'a,'.repeat(10_001)}]}`,
      /^in line 1, "deny\.users" has 10001 entries; at most 10000/,
    ],
    ['__proto__', 'deny: {__proto__: [a]}', /^in line 1, "deny\.__proto__" is unknown/],
  ] as const) {
    test(`is refused with a message: ${title}`, () => {
      assert.throws(
        () => parseRules(text),
        (error) => {
          assert.ok(error instanceof RulesError);
          assert.match(error.message, sentence);
          return true;
        },
      );
    });
  }
});
