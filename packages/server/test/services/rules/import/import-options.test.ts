import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { showImported } from '../../../../src/cli/show-imported.ts';
import {
  type ImportedRules,
  importOptions,
  type OptionFormat,
} from '../../../../src/services/rules/import/import-options.ts';
import { parseRules } from '../../../../src/services/rules/parse-rules.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');

function importText(text: string, format: OptionFormat | null = null): ImportedRules {
  const imported = importOptions(text, format);
  assert.ok(!('problem' in imported), JSON.stringify(imported));
  return imported;
}

/** The rules of a text without comments, which must be valid. */
function rulesOf(text: string): string {
  const parsed = parseRules(text);
  assert.ok(!('errors' in parsed), JSON.stringify(parsed));
  return text.replace(/ *#.*$/gm, '').trim();
}

/** What became of the last of these lines, and the rules that they give after two groups. */
function importLines(lines: string, format: OptionFormat) {
  const { text, report } = importText(`GROUP team ada bob\nHOST_GROUP lab h1\n${lines}`, format);
  const { verdict, now, todo } = report.at(-1) as (typeof report)[number];
  return { verdict, said: `${now} ${todo}`, text: rulesOf(text) };
}

for (const format of ['flexnet', 'rlm'] as const) {
  describe(`an options file of ${format}`, () => {
    const imported = importText(read(`${format}.opt`));

    test('is recognized, and becomes rules with its lines as comments', () => {
      assert.equal(imported.format, format);
      rulesOf(imported.text);
      assert.equal(imported.text, read(`${format}.yaml`));
    });

    test('is reported line by line, with what is left to do', () => {
      assert.equal(`${showImported(imported)}\n`, read(`${format}.report`));
    });

    test('has something to do for every line that is lost', () => {
      for (const { line, verdict, todo } of imported.report) {
        assert.ok(verdict !== 'lost' || todo !== null, `line ${line}`);
        assert.ok(verdict !== 'same' || todo === null, `line ${line}`);
      }
    });
  });
}

describe('a line of FlexNet', () => {
  for (const [lines, verdict, said, rules] of [
    ['RESERVE 1 f1 USER ada', 'same', 'Keeps 1 slot of f1 for user "ada".', '{ slots: 1, for: user-ada }'],
    ['reserve 1 f1 host 10.1.2.3', 'same', 'address "10.1.2.3"', 'addresses: [ 10.1.2.3 ]'],
    ['RESERVE 1 f1 INTERNET 10.1.*', 'same', 'addresses 10.1.0.0/16', 'addresses: [ 10.1.0.0/16 ]'],
    ['RESERVE 1 f1 INTERNET 10.1.2.1*', 'lost', 'No slot of f1 is kept for them.', 'groups:'],
    ['RESERVE 1 f1 DISPLAY /dev/tty1', 'lost', 'in place of "/dev/tty1"', 'groups:'],
    ['RESERVE 1 f1 USER_GROUP team', 'same', 'for group "team"', '{ slots: 1, for: team }'],
    ['RESERVE 0 f1 GROUP team', 'unneeded', 'reserves nothing', 'groups:'],
    ['RESERVE 1 f1', 'lost', 'something like USER ada', 'groups:'],
    ['RESERVE -2 f1 USER ada', 'lost', '"-2" should be a number of 1 or more', 'groups:'],
    ['RESERVE 5 f1 USER ada', 'changed', 'at most one slot of a license', 'slots: 5'],
    ['RESERVE 1 f1 USER u\nRESERVE 1 f1 USER u', 'changed', 'With line 3 that makes 2.', 'slots: 2'],
    ['RESERVE 1 f1 GROUP Team', 'lost', 'Did you mean "team"?', 'groups:'],
    ['MAX 3 f1 HOST_GROUP lab', 'same', 'all members together', 'limit:\n      - { slots: 3, for: lab }'],
    ['MAX 3 f1 USER ALL_USERS', 'unneeded', 'at most one slot', 'groups:'],
    ['MAX 3 f1:VERSION=2 USER ada', 'unneeded', 'at most one slot of a license. null', 'groups:'],
    ['MAX 0 f1 USER ALL_USERS', 'changed', 'EVERYBODY', 'users: [ "*" ]'],
    ['MAX 0 f1 USER ada', 'same', 'Refuses f1 to user "ada".', 'users: [ ada ]'],
    ['MAX 2 f1:VERSION=1.0 HOST ALL_HOSTS', 'changed', 'Limits each host', '{ slots: 2, each: host }'],
    ['MAX 2 f1 GROUP ALL_GROUPS', 'same', 'each group of users', '{ slots: 2, for: team }'],
    ['INCLUDE f1 PROJECT apollo', 'lost', 'NOBODY can use it', 'f1:\n    allow: []'],
    ['INCLUDE f1 USER ada\nINCLUDE f1 GROUP no', 'lost', 'Only user-ada can use f1.', 'allow: [ user-ada ]'],
    ['INCLUDE f1 USER "no"', 'same', 'Lets user "no" use f1.', 'users: [ no ]'],
    ['INCLUDEALL GROUP team', 'lost', 'EVERYBODY can use them', 'groups:'],
    [
      'MAX 1 f1 GROUP no\nINCLUDEALL GROUP team',
      'changed',
      'Lets group "team" use f1.',
      'f1:\n    allow: [ team ]',
    ],
    [
      'MAX 1 f1 GROUP no\nINCLUDEALL GROUP no',
      'lost',
      'NOBODY can use the products of',
      'f1:\n    allow: []',
    ],
    ['EXCLUDE f1 GROUP team', 'same', 'Refuses f1 to group "team".', 'deny:\n      groups: [ team ]'],
    ['EXCLUDE f1:VERSION=2 USER u', 'changed', 'only for licenses with VERSION=2', 'f1:\n    deny:'],
    ['EXCLUDE "f1 asset_info=lab 4" USER u', 'changed', 'only for licenses with asset_info=lab 4', 'f1:\n'],
    ['EXCLUDE f1:x USER u', 'same', 'Refuses f1:x', 'f1:x:\n'],
    ['EXCLUDE f1 USER ann bob', 'changed', '"bob" at the end was not understood', 'users: [ ann ]'],
    ['EXCLUDEALL USER ann bob', 'changed', '"bob" at the end was not understood', 'users: [ ann ]'],
    ['EXCLUDE f1 DISPLAY t5', 'lost', 'f1 is NOT refused to them', 'groups:'],
    ['EXCLUDEALL USER "ex, ternal"', 'same', 'Refuses every product', 'deny:\n  users: [ "ex, ternal" ]'],
    ['GROUP all *\nEXCLUDE f1 GROUP all', 'changed', 'EVERYBODY', 'groups: [ all ]'],
    ['INCLUDE_BORROW f1 GROUP no', 'lost', 'NOBODY can borrow it', 'borrow:\n      allow: []'],
    ['EXCLUDE_BORROW f1 USER u', 'lost', 'user "u" CAN borrow f1.', 'groups:'],
    ['MAX_BORROW_HOURS f1 0\nEXCLUDE_BORROW f1 USER u', 'unneeded', 'nobody can borrow f1', 'allow: []'],
    ['MAX_BORROW_HOURS f1 999999', 'same', '87600 hours', 'hours: 87600'],
    ['MAX_BORROW_HOURS f1 0', 'same', 'NOBODY can borrow f1.', 'borrow:\n      allow: []'],
    ['BORROW_LOWWATER f1:VERSION=2 3', 'changed', 'Keeps 3 slots of f1 from being borrowed', 'keep: 3'],
    ['GROUPCASEINSENSITIVE OFF', 'changed', 'are the same user', 'groups:'],
    ['GROUP all+some x', 'changed', 'In the file it is called "all+some".', 'all-some:'],
    ['HOST_GROUP lab h2', 'same', 'Adds to group "lab": h2.', 'hosts: [ h1, h2 ]'],
    ['HOST_GROUP net 10.*.1.* 10.2.*', 'changed', '"10.*.1.*" cannot be read', 'addresses: [ 10.2.0.0/16 ]'],
    ['GROUP all *', 'changed', 'remove "*" from group "all"', 'users: [ "*" ]'],
    ['FQDN_MATCHING LENIENT', 'lost', '[ws1, "ws1.*"]', 'groups:'],
    ['RESERVE 1 f1 USER J\ufffdrgen', 'lost', 'is not valid UTF-8', 'groups:'],
    ['NONSENSE', 'lost', 'nothing was made of it', 'groups:'],
  ] as const) {
    test(lines, () => {
      const imported = importLines(lines, 'flexnet');
      assert.equal(imported.verdict, verdict, imported.said);
      assert.ok(imported.said.includes(said), imported.said);
      assert.ok(imported.text.includes(rules), imported.text);
    });
  }
});

describe('a line of RLM', () => {
  for (const [lines, verdict, said, rules] of [
    ['exclude rope user plum id=7', 'changed', 'only for licenses with id=7', 'rope:\n    deny:'],
    ['group Team cy', 'same', 'Adds to group "team": cy. Case is ignored', 'users: [ ada, bob, cy ]'],
    [
      'EXCLUDE Rope user x\nEXCLUDE rope GROUP Team',
      'same',
      'Refuses Rope to group "team".',
      'Rope:\n    deny:',
    ],
    ['MAX 1 * group team', 'lost', 'cannot name all products', 'groups:'],
    ['MAX 4 rope host *', 'changed', 'Limits each host to 4 slots', '{ slots: 4, each: host }'],
    ['MAX 4 rope internet *', 'changed', 'Limits each address', '{ slots: 4, each: address }'],
    ['INCLUDE rope user *', 'same', 'Lets everybody use rope.', 'everybody:\n    users: [ "*" ]'],
    ['ROAM_MAX_DAYS 0 rope', 'same', 'NOBODY can borrow rope.', 'allow: []'],
    ['ROAM_MAX_COUNT 3 rope', 'lost', 'its slots minus 3. Change it', 'groups:'],
    ['MAX 3 rope group team\nEXEMPT_MAX rope user ada', 'lost', 'bound by line 3', 'limit:'],
    ['EXEMPTALL_MAX user ada', 'unneeded', 'no such limit', 'groups:'],
    ['EXCLUDEALL_ROAM user ada', 'lost', 'CAN borrow every product', 'groups:'],
    ['EXPRESS on rope', 'same', 'Berth always lets it pass.', 'groups:'],
    ['EXPRESS off rope', 'changed', 'cannot be turned off', 'groups:'],
    ['TIMEZONE 70', 'lost', 'time zone of a computer', 'groups:'],
    ['MINREMOVE 10', 'unneeded', 'at any time', 'groups:'],
  ] as const) {
    test(lines, () => {
      const imported = importLines(lines, 'rlm');
      assert.equal(imported.verdict, verdict, imported.said);
      assert.ok(imported.said.includes(said), imported.said);
      assert.ok(imported.text.includes(rules), imported.text);
    });
  }

  test('keeps the order of priorities, whatever their numbers are', () => {
    const numbers = [1600, 0, 1500, 0].map((number, index) => `PRIORITY ${number} rope user u${index}`);
    const { text } = importText(numbers.join('\n'), 'rlm');
    assert.deepEqual(
      [...text.matchAll(/level: (\d+)/g)].map(([, level]) => level),
      ['1', '3', '2', '3'],
    );
  });
});

test('a password is not repeated', () => {
  const imported = importText('GROUP team ada\nUSER ada hunter2', 'rlm');
  assert.equal(imported.report[1]?.verdict, 'lost');
  assert.doesNotMatch(JSON.stringify(imported), /hunter2/);
});

test('a line that a later one replaces says so', () => {
  const { text, report } = importText('MAX_BORROW_HOURS f1 168\nMAX_BORROW_HOURS f1 72');
  assert.match(rulesOf(text), /hours: 72$/);
  assert.deepEqual([report[0]?.verdict, report[0]?.now.slice(0, 19)], ['unneeded', 'Replaced by line 2,']);
});

test('a group may be defined after the lines that use it', () => {
  const { report } = importText('RESERVE 1 f1 GROUP team\nGROUP team ada');
  assert.deepEqual(
    report.map(({ line, verdict }) => `${line} ${verdict}`),
    ['1 same', '2 same'],
  );
});

test('a line for which there is no room is lost', () => {
  const lines = (line: string, length: number) => Array.from({ length }, (_, index) => `${line}${index}`);
  const reservations = [...lines('RESERVE 1 f1 USER u', 17), 'RESERVE 1 f1 USER u0'];
  const limits = lines('MAX 1 f1 HOST h', 101);
  const { text, report } = importText([...reservations, ...limits].join('\n'));
  assert.deepEqual(
    report.filter(({ verdict }) => verdict === 'lost').map(({ line }) => line),
    [17, 119],
  );
  assert.match(rulesOf(text), /\{ slots: 2, for: user-u0 \}/);
});

test('a list that is too long gives no rules', () => {
  const users = Array.from({ length: 10_001 }, (_, index) => `u${index}`).join(' ');
  const imported = importOptions(`GROUP all ${users}`);
  assert.ok('problem' in imported);
  assert.match(imported.problem, /they would not be valid\. .* has 10001 entries/);
});

test('a file with too many groups or products still gives valid rules', () => {
  for (const line of ['GROUP g# a', 'EXCLUDE p# USER u', 'RESERVE 1 f1 GROUP g#']) {
    const lines = Array.from({ length: 1001 }, (_, index) => line.replace('#', String(index)));
    const { text, report } = importText([...lines, 'INCLUDEALL USER u'].join('\n'));
    rulesOf(text);
    assert.equal(report.at(-1)?.verdict, line.startsWith('RESERVE') ? 'changed' : 'lost');
  }
});

test('what "rules check" warns of is in the notes', () => {
  const { notes } = importText('GROUP team a b c\nRESERVE 3 f1 GROUP team\nMAX 2 f1 GROUP team');
  assert.match(notes.at(-1) ?? '', /^"rules check" warns: 3 slots are reserved for members of team/);
});

test('a file that is no options file gives no rules', () => {
  for (const [text, problem] of [
    ['# nothing\n\n', /^It has no options/],
    [
      '# Rules\n\nWithout rules, whoever comes\nMAX 1 f1 USER u\nfirst gets a slot.',
      /2 of 3 lines .* first line 3/,
    ],
  ] as const) {
    const imported = importOptions(text);
    assert.ok('problem' in imported);
    assert.match(imported.problem, problem);
  }
});

test('a file from which no rule follows warns that the text lifts all rules', () => {
  const { text, notes } = importText('LINGER f1 30');
  assert.match(notes.join(), /lifts all rules/);
  assert.match(text, /^# No line became a rule\. Applying this text lifts all rules/m);
  assert.equal(rulesOf(text), 'deny: {}');
});

test('whatever a file says, what it becomes is valid', () => {
  const keywords =
    'GROUP HOST_GROUP INTERNET_GROUP INCLUDE INCLUDEALL EXCLUDE EXCLUDEALL INCLUDE_BORROW RESERVE MAX';
  const others =
    'MAX_BORROW_HOURS BORROW_LOWWATER EXCLUDE_BORROW PRIORITY ROAM_MAX_DAYS INCLUDEALL_ROAM EXEMPT_MAX' +
    ' NONSENSE';
  const names = [
    '1',
    '0',
    '999999',
    'f1',
    'f1:V=1',
    ':',
    'team',
    '"a b"',
    '10.*',
    '::1',
    '*',
    'null',
    '{x',
    '&a',
  ];
  const types = [
    'USER',
    'GROUP',
    'HOST',
    'HOST_GROUP',
    'INTERNET',
    'INTERNET_GROUP',
    'ALL_HOSTS',
    '\u0007',
    'x'.repeat(300),
  ];
  const words = fc.array(fc.constantFrom(...names, ...types), { maxLength: 5 });
  const line = fc
    .tuple(fc.constantFrom(...`${keywords} ${others}`.split(' ')), words)
    .map(([keyword, rest]) => [keyword, ...rest].join(' '));
  const file = fc.array(line, { maxLength: 10 }).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(file, fc.constantFrom('flexnet', 'rlm'), (text, format) => {
      const imported = importOptions(text, format);
      if ('problem' in imported) return assert.match(imported.problem, /No rules were made\.$/);
      rulesOf(imported.text);
      assert.equal(imported.report.length, text === '' ? 0 : text.split('\n').length);
    }),
    { numRuns: 500 },
  );
});
