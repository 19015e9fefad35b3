import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { importOptions } from '../../../../src/services/rules/import/import-options.ts';
import { parseRules } from '../../../../src/services/rules/parse-rules.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');

/** The rules of a text without its comment, which must be valid. */
function rulesOf(text: string): string {
  const parsed = parseRules(text);
  assert.ok(!('errors' in parsed), JSON.stringify(parsed));
  return text.replace(/^#.*\n/gm, '').trim();
}

/** What became of one line, and the rules that it gives after these groups. */
function importLine(line: string, format: 'flexnet' | 'rlm' = 'flexnet') {
  const { text, report } = importOptions(`GROUP team ada bob\nHOST_GROUP lab h1\n${line}`, format);
  const { verdict, message } = report.at(-1) as (typeof report)[number];
  return { verdict, message, text: rulesOf(text) };
}

describe('an options file of FlexNet', () => {
  const { format, text, report } = importOptions(read('flexnet.opt'));

  test('becomes rules', () => {
    assert.equal(format, 'flexnet');
    assert.equal(rulesOf(text), read('flexnet.yaml').trim());
  });

  test('is reported line by line', () => {
    const verdicts = report.map(({ line, verdict }) => `${line} ${verdict}`);
    assert.deepEqual(verdicts, [
      ...['3 dropped', '4 dropped', '5 dropped', '6 taken', '8 taken', '10 taken', '11 taken', '12 taken'],
      ...['13 taken', '14 differs', '16 taken', '17 taken', '18 taken', '19 differs', '20 taken', '21 taken'],
      ...[
        '22 taken',
        '23 taken',
        '24 differs',
        '25 taken',
        '26 taken',
        '27 differs',
        '28 taken',
        '29 differs',
      ],
      ...['30 taken', '31 taken', '32 dropped', '33 taken', '34 dropped', '35 taken', '36 taken', '37 taken'],
      ...['38 dropped', '39 dropped', '40 dropped', '41 dropped', '42 dropped', '43 dropped', '44 dropped'],
    ]);
    const [joined] = report.filter(({ line }) => line === 8);
    assert.equal(joined?.source, 'GROUP cad_team ada grace linus margaret ken');
    assert.match(report.at(-1)?.message ?? '', /"RESRVE" is unknown\. Did you mean "RESERVE"\?/);
  });
});

test('an options file of RLM becomes rules, and is recognized', () => {
  const { format, text, report } = importOptions(read('rlm.opt'));
  assert.equal(format, 'rlm');
  assert.equal(rulesOf(text), read('rlm.yaml').trim());
  const count = (verdict: string) => report.filter((one) => one.verdict === verdict).length;
  assert.deepEqual([count('taken'), count('differs'), count('dropped')], [9, 6, 6]);
});

describe('a line', () => {
  for (const [line, verdict, rules] of [
    ['RESERVE 1 f1 USER ada', 'taken', 'reserve:\n      - { slots: 1, for: user-ada }'],
    ['reserve 1 f1 host 10.1.2.3', 'taken', 'addresses: [ 10.1.2.3 ]'],
    ['RESERVE 1 f1 INTERNET 10.1.*', 'taken', 'addresses: [ 10.1.0.0/16 ]'],
    ['RESERVE 1 f1 INTERNET 10.1.2.1*', 'dropped', 'groups:'],
    ['RESERVE 1 f1 DISPLAY /dev/tty1', 'dropped', 'groups:'],
    ['RESERVE 1 f1 USER_GROUP team', 'taken', '{ slots: 1, for: team }'],
    ['RESERVE 0 f1 GROUP team', 'dropped', 'groups:'],
    ['RESERVE 1 f1', 'dropped', 'groups:'],
    ['MAX 3 f1 HOST_GROUP lab', 'taken', 'limit:\n      - { slots: 3, for: lab }'],
    ['MAX 3 f1 USER ALL_USERS', 'differs', 'groups:'],
    ['MAX 0 f1 USER ALL_USERS', 'dropped', 'groups:'],
    ['MAX 2 f1:VERSION=1.0 HOST ALL_HOSTS', 'differs', '{ slots: 2, each: host }'],
    ['INCLUDE f1 PROJECT apollo', 'dropped', 'f1:\n    allow: []'],
    ['INCLUDE f1 USER "no"', 'taken', 'users: [ no ]'],
    ['INCLUDEALL GROUP team', 'dropped', 'groups:'],
    ['EXCLUDE f1 GROUP team', 'taken', 'deny:\n      groups: [ team ]'],
    ['EXCLUDEALL USER "ex, ternal"', 'taken', 'deny:\n  users: [ "ex, ternal" ]'],
    ['MAX_BORROW_HOURS f1 999999', 'taken', 'hours: 87600'],
    ['BORROW_LOWWATER f1:VERSION=2 3', 'differs', 'keep: 3'],
    ['GROUPCASEINSENSITIVE OFF', 'differs', 'groups:'],
    ['GROUP all+some x', 'differs', 'all-some:'],
    ['HOST_GROUP lab h2', 'taken', 'hosts: [ h1, h2 ]'],
  ] as const) {
    test(line, () => {
      const imported = importLine(line);
      assert.equal(imported.verdict, verdict, imported.message);
      assert.ok(imported.text.includes(rules), imported.text);
    });
  }

  test('of RLM may choose a license by its id, in small letters', () => {
    const { verdict, message } = importLine('exclude rope user plum id=7', 'rlm');
    assert.equal(verdict, 'differs');
    assert.match(message, /all licenses of rope, without id=7\.$/);
  });
});

test('a group may be defined after the lines that use it', () => {
  const { report } = importOptions('RESERVE 1 f1 GROUP team\nGROUP team ada');
  assert.deepEqual(
    report.map(({ line, verdict }) => `${line} ${verdict}`),
    ['1 taken', '2 taken'],
  );
});

test('a seventeenth reservation is not taken, and lines for one group are joined', () => {
  const lines = Array.from({ length: 17 }, (_, index) => `RESERVE 1 f1 USER u${index}`);
  const { text, report } = importOptions([...lines, 'RESERVE 1 f1 USER u0'].join('\n'));
  assert.deepEqual(
    report.filter(({ verdict }) => verdict === 'dropped').map(({ line }) => line),
    [17],
  );
  assert.match(rulesOf(text), /\{ slots: 2, for: user-u0 \}/);
});

test('a file without options gives rules that say nothing', () => {
  const { text, report } = importOptions('# nothing\n\n');
  assert.deepEqual([rulesOf(text), report], ['deny: {}', []]);
});

test('whatever a file says, what it becomes is valid', () => {
  const keywords =
    'GROUP HOST_GROUP INTERNET_GROUP INCLUDE INCLUDEALL EXCLUDE EXCLUDEALL INCLUDE_BORROW RESERVE MAX';
  const others = 'MAX_BORROW_HOURS BORROW_LOWWATER PRIORITY ROAM_MAX_DAYS INCLUDEALL_ROAM';
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
      rulesOf(imported.text);
      assert.equal(imported.report.length, text === '' ? 0 : text.split('\n').length);
    }),
    { numRuns: 500 },
  );
});
