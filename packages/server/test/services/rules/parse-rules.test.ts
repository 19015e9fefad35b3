import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EMPTY_RULE_SET, NO_NAMES, type RuleSet } from '../../../src/core/rules/rule-set.ts';
import { type ParsedRules, parseRules } from '../../../src/services/rules/parse-rules.ts';

function parse(text: string): ParsedRules {
  const parsed = parseRules(text);
  assert.ok(!('errors' in parsed), JSON.stringify(parsed));
  return parsed;
}

/** Every error as `line:column message`. */
function errorsOf(text: string): readonly string[] {
  const parsed = parseRules(text);
  assert.ok('errors' in parsed, 'the text is valid');
  return parsed.errors.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const WHOLE = `groups:
  cad-team:    { users: [ada, "cad-*"], hosts: ["ws-1*"], addresses: [10.20.0.0/16] }
  contractors: { users: ["ext-*"] }
  interns:     { users: ["int-*"] }
  engineers:   { groups: [cad-team], users: [bob] }

times:
  office: { days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }

deny: { users: [mallory] }

products:
  cad-pro:
    allow: [engineers, contractors]
    deny: { groups: [interns] }
    reserve:
      - { slots: 4, for: cad-team, during: office }
    limit:
      - { slots: 2, for: contractors }
      - { slots: 1, each: host }
    borrow:
      allow: [cad-team]
      hours: 72
      keep: 6
      perAddress: 3
    priority:
      - { for: cad-team, level: 10 }
    features:
      render: { allow: [engineers], reserve: [{ slots: 1, for: cad-team }] }

expect:
  - { user: ext-3, product: cad-pro, held: { contractors: 2 }, answer: refused, rule: limit }
`;

const group = (facts: object) => ({ ...NO_NAMES, ...facts });

describe('the text of the rules', () => {
  test('has groups, times, deny, products and what is expected', () => {
    const { rules, expectations, warnings } = parse(WHOLE);
    const always = { during: null };
    const expected: RuleSet = {
      groups: {
        'cad-team': group({ users: ['ada', 'cad-*'], hosts: ['ws-1*'], addresses: ['10.20.0.0/16'] }),
        contractors: group({ users: ['ext-*'] }),
        interns: group({ users: ['int-*'] }),
        engineers: group({ groups: ['cad-team'], users: ['bob'] }),
      },
      times: { office: { days: [1, 2, 3, 4, 5], from: 480, to: 1080, zone: 'Europe/Berlin' } },
      deny: group({ users: ['mallory'] }),
      products: {
        'cad-pro': {
          allow: ['engineers', 'contractors'],
          deny: group({ groups: ['interns'] }),
          reserve: [{ slots: 4, for: 'cad-team', during: 'office', line: 17 }],
          limit: [
            { slots: 2, of: { group: 'contractors' }, line: 19, ...always },
            { slots: 1, of: { each: 'host' }, line: 20, ...always },
          ],
          lines: { allow: 14, deny: 15 },
          borrow: { allow: ['cad-team'], hours: 72, keep: 6, perAddress: 3, line: 21, ...always },
          priority: [{ for: 'cad-team', level: 10, line: 27, ...always }],
          features: {
            render: {
              allow: ['engineers'],
              deny: NO_NAMES,
              reserve: [{ slots: 1, for: 'cad-team', line: 29, ...always }],
              limit: [],
              lines: { allow: 29 },
            },
          },
        },
      },
      lines: { deny: 10 },
    };
    assert.deepEqual(rules, expected);
    assert.deepEqual(warnings, []);
    const message = 'ext-3 and cad-pro: refused (limit 2 for contractors).';
    assert.deepEqual(expectations, [{ line: 32, column: 5, ok: true, message }]);
  });

  test('may only deny, and every value is text', () => {
    const text = [
      'deny:',
      '  users: [mallory, "ext-*", 007, no, null]',
      '  hosts:',
      '    - lab-* # of the east wing',
      '  addresses: [10.0.0.0/8, "2001:db8::/32", 192.0.2.7]',
    ].join('\n');
    assert.deepEqual(parse(text).rules, {
      ...EMPTY_RULE_SET,
      deny: {
        users: ['mallory', 'ext-*', '007', 'no', 'null'],
        hosts: ['lab-*'],
        addresses: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'],
        groups: [],
      },
      lines: { deny: 1 },
    });
  });

  test('may say nothing, in every notation', () => {
    for (const text of ['deny: {}', 'deny:', '{}', '# nobody', 'deny:\n  users:\n  hosts: []\n#  - lab-1']) {
      const { lines: _, ...rules } = parse(text).rules;
      assert.deepEqual(rules, EMPTY_RULE_SET, text);
    }
  });

  test('writes days and times in several ways', () => {
    for (const [written, wanted] of [
      ['{ zone: UTC }', { days: [0, 1, 2, 3, 4, 5, 6], from: 0, to: 1440 }],
      ['{ days: sat-mon, zone: UTC }', { days: [0, 1, 6], from: 0, to: 1440 }],
      [
        '{ days: [Mon, wed-thu], from: 6:30, to: "24:00", zone: UTC }',
        { days: [1, 3, 4], from: 390, to: 1440 },
      ],
      ['{ days: fri, from: "22:00", to: "06:00", zone: UTC }', { days: [5], from: 1320, to: 360 }],
    ] as const) {
      assert.deepEqual(parse(`times: { t: ${written} }`).rules.times.t, { ...wanted, zone: 'UTC' }, written);
    }
  });

  test('allows nobody only if it says so', () => {
    assert.deepEqual(parse('products: { cad: { allow: [] } }').rules.products.cad?.allow, []);
    assert.equal(parse('products: { cad: }').rules.products.cad?.allow, null);
  });

  test('may have names that objects have anyway', () => {
    const { groups, products } = parse(
      'groups: { constructor: { users: [a] } }\nproducts: { __proto__: { allow: [constructor] } }',
    ).rules;
    assert.deepEqual(Object.keys(groups), ['constructor']);
    assert.deepEqual(Object.keys(products), ['__proto__']);
  });
});

const GROUPS = 'groups: { a: { users: [x] }, b: {} }\n';
const rule = (text: string) => `${GROUPS}products: { cad: { ${text} } }`;

const NO_UTF8 = '1:1 The text is not valid UTF-8. Save it as UTF-8.';

describe('a text is refused as a whole, with line and column', () => {
  for (const [title, text, ...errors] of [
    ['half a character', 'deny: {users: ["\ud800"]}', NO_UTF8],
    ['another encoding', Buffer.from('deny: {users: [zoë]}', 'latin1').toString('utf8'), NO_UTF8],
    ['empty', ' \n', '1:1 The text is empty. To lift all rules, write "deny: {}".'],
    ['an unknown section', 'denny: {}', '1:1 "denny" is unknown. Did you mean "deny"?'],
    ['an unknown list', 'deny: {user: [ada]}', '1:8 "deny.user" is unknown. Did you mean "users"?'],
    [
      'no section at all',
      '- ada',
      '1:1 The text must contain "groups", "times", "deny", "products", "expect".',
    ],
    ['a line further down', 'deny:\n  users:\n    - ada\n    - ""', '4:7 "deny.users[1]" is empty.'],
    ['a text for a section', 'deny: ada', '1:7 "deny" must contain "users", "hosts", "addresses", "groups".'],
    ['a text for a list', 'deny: {users: ada}', '1:15 "deny.users" must be a list: [ada].'],
    ['a list in a list', 'deny: {users: [a, [b]]}', '1:19 "deny.users[1]" must be text.'],
    ['a pair in a list', 'deny: {users: [a: b]}', '1:16 "deny.users[0]" must be text.'],
    ['a control character', 'deny: {hosts: ["a\\tb"]}', '1:16 "deny.hosts[0]" contains a control character.'],
    [
      'a long name',
      `deny: {users: [${'x'.repeat(257)}]}`,
      '1:16 "deny.users[0]" is longer than 256 characters.',
    ],
    [
      'no address',
      'deny: {addresses: [10.0.0.1, "10.*"]}',
      '1:30 "deny.addresses[1]" is "10.*", which is not an address or a range such as 10.0.0.0/8.',
    ],
    ['no YAML', 'deny: "', '1:8 This is not valid YAML: Missing closing "quote.'],
    [
      'the same list twice',
      'deny:\n  users: [a]\n  users: [b]',
      '3:3 This name was written before. Put both in one place.',
    ],
    [
      'two documents',
      'deny: {}\n---\ndeny: {}',
      '2:1 A second document begins here. Write all rules in one, without "---".',
    ],
    [
      'a star without quotes',
      'deny: {users: [*-lab]}',
      '1:16 "*-lab" refers to nothing. Put it in quotes if it is a name.',
    ],
    ['a name that is missing', 'deny: {: [a]}', '1:8 A name is missing before the colon.'],
    ['nested too deeply', `a: ${'['.repeat(51)}`, '1:1 This is nested too deeply.'],
    ['nested in one line', `deny: {}\n${'- '.repeat(51)}`, '2:1 This is nested too deeply.'],
    [
      'too many',
      `deny: {users: [${'a,'.repeat(10_001)}]}`,
      '1:15 "deny.users" has 10001 entries; at most 10000 are allowed.',
    ],
    [
      '__proto__',
      'deny: {__proto__: [a]}',
      '1:8 "deny.__proto__" is unknown. Use "users", "hosts", "addresses", "groups".',
    ],
    [
      'the name of a group',
      'groups:\n  a,b: {}',
      '2:3 "groups.a,b" is no name of a group. Use up to 64 letters, digits, dots, dashes and underscores.',
    ],
    [
      'an unknown group in a group',
      'groups: { team: {}, all: { groups: [teams] } }',
      '1:37 "groups.all.groups[0]" is "teams", which is not in "groups". Did you mean "team"?',
    ],
    [
      'a circle of groups',
      'groups:\n  a: { groups: [b] }\n  b: { groups: [c] }\n  c: { groups: [a] }',
      '2:3 "groups.a" contains itself: a → b → c → a. Remove one of these.',
    ],
    [
      'two circles, and a group that only leads to them',
      'groups:\n  x: { groups: [c, a] }\n  a: { groups: [b, a] }\n  b: { groups: [c] }\n  c: { groups: [b] }',
      '3:3 "groups.a" contains itself: a → a. Remove one of these.',
      '5:3 "groups.c" contains itself: c → b → c. Remove one of these.',
    ],
    [
      'days that are none',
      'times: { t: { days: monday, zone: UTC } }',
      '1:21 "times.t.days" is "monday"; write days such as mon, mon-fri or [mon, wed, sat].',
    ],
    ['no day', 'times: { t: { days: [], zone: UTC } }', '1:21 "times.t.days" names no day.'],
    [
      'a time that is none',
      'times: { t: { from: "8", to: "24:01", zone: UTC } }',
      '1:21 "times.t.from" is "8"; write a time such as "08:30", up to "24:00".',
      '1:30 "times.t.to" is "24:01"; write a time such as "08:30", up to "24:00".',
    ],
    [
      'a zone that is none',
      'times: { t: { zone: Europe/Berlim } }',
      '1:21 "times.t.zone" is "Europe/Berlim", which is no time zone. Did you mean "Europe/Berlin"?',
    ],
    [
      'no zone',
      'times: { t: { days: mon } }',
      '1:10 "times.t" has no zone. Add one, such as "zone: Europe/Berlin".',
    ],
    [
      'an unknown group in a rule',
      rule('reserve: [{ slots: 1, for: aa }]'),
      '2:47 "products.cad.reserve[0].for" is "aa", which is not in "groups". Did you mean "a"?',
    ],
    [
      'an unknown time',
      `times: { office: { zone: UTC } }\n${rule('limit: [{ slots: 1, for: a, during: ofice }]')}`,
      '3:56 "products.cad.limit[0].during" is "ofice", which is no name in "times". Did you mean "office"?',
    ],
    [
      'incomplete rules',
      rule('reserve: [{}], limit: [{ slots: 1 }], priority: [{ for: a }]'),
      '2:30 "products.cad.reserve[0]" has no "slots".',
      '2:30 "products.cad.reserve[0]" does not say for whom. Add "for" with a group.',
      '2:43 "products.cad.limit[0]" does not say for whom. Add "for" with a group, or "each: host".',
      '2:69 "products.cad.priority[0]" has no "level".',
    ],
    [
      'a limit for two',
      rule('limit: [{ slots: 1, for: a, each: host }]'),
      '2:28 "products.cad.limit[0]" has both "for" and "each". Write two lines.',
    ],
    [
      'a limit for each of something else',
      rule('limit: [{ slots: 1, each: user }]'),
      '2:46 "products.cad.limit[0].each" is "user", which is no kind of place. Use host, address.',
    ],
    [
      'numbers',
      rule('reserve: [{ slots: 0, for: a }], borrow: { hours: 1.5 }'),
      '2:39 "products.cad.reserve[0].slots" is "0"; it must be a whole number from 1 to 1000000.',
      '2:70 "products.cad.borrow.hours" is "1.5"; it must be a whole number from 1 to 87600.',
    ],
    [
      'an empty allow',
      rule('allow: '),
      '2:20 "products.cad.allow" is empty. List groups, write [] to allow nobody, or remove it.',
    ],
    [
      'too many reservations',
      rule(`reserve: [${'{ slots: 1, for: a },'.repeat(17)}]`),
      '2:29 "products.cad.reserve" has 17 entries; at most 16 are allowed.',
    ],
    [
      'too many reservations of a feature',
      rule(`features: { f: { reserve: [${'{ slots: 1, for: a },'.repeat(17)}] } }`),
      '2:46 "products.cad.features.f.reserve" has 17 entries; at most 16 are allowed.',
    ],
    [
      'what only products have in a feature',
      rule('features: { f: { borrow: {} } }'),
      '2:37 "products.cad.features.f.borrow" is unknown. Use "allow", "deny", "reserve", "limit".',
    ],
    [
      'an expectation',
      `${GROUPS}expect: [{ user: x, product: cad, answer: server, rule: limt, held: { c: 1 }, at: monday }]`,
      '2:43 "expect[0].answer" is "server", which is no answer. Did you mean "served"?',
      '2:51 "expect[0].rule" can only be expected with "answer: refused".',
      '2:57 "expect[0].rule" is "limt", which is no rule that refuses. Did you mean "limit"?',
      '2:71 "expect[0].held.c" names no group in "groups". Did you mean "a"?',
      '2:83 "expect[0].at" is "monday"; write a time with its zone, such as 2026-03-02T09:00+01:00.',
    ],
    [
      'an expectation without',
      'expect: [{ address: 10.0.0.0/8 }]',
      '1:10 "expect[0]" has no "user".',
      '1:10 "expect[0]" has no "product".',
      '1:10 "expect[0]" has no "answer".',
      '1:21 "expect[0].address" is "10.0.0.0/8"; write one address.',
    ],
  ] as const) {
    test(title, () => assert.deepEqual(errorsOf(text), errors));
  }

  test('too many mistakes are not all listed', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `group-with-a-long-name-${index}`);
    const groups = names.slice(1).map((name) => `  ${name}: {}\n`);
    const unknown = names.map((name) => `x${name}`).join(', ');
    assert.equal(errorsOf(`groups:\n${groups.join('')}  all: { groups: [${unknown}] }`).length, 100);
    assert.equal(errorsOf(`deny: {users: [${'"'.repeat(1001)}]}`).length, 100, 'nor those of the YAML');
  });

  test('nobody is asked whether a very long name was a typo', () => {
    const groups = Array.from({ length: 1000 }, (_, index) => `  ${'g'.repeat(60)}${index}: {}\n`).join('');
    const [error] = errorsOf(`groups:\n${groups}deny: { groups: [${'g'.repeat(900_000)}] }`);
    assert.match(error as string, /^1002:18 "deny\.groups\[0\]" is "g+…$/);
  });

  test('too many groups within groups', () => {
    const names = Array.from({ length: 200 }, (_, index) => `g${index}`);
    const groups = names.map((name, index) => `  ${name}: { groups: [${names.slice(index + 1)}] }\n`);
    assert.deepEqual(errorsOf(`groups:\n${groups.join('')}`), [
      '2:3 "groups" has 19900 groups within groups; at most 10000 are allowed.',
    ]);
  });

  test('too long', () => {
    const [error] = errorsOf(`deny: {}\n${'#'.repeat(1024 * 1024)}`);
    assert.match(error as string, /^1:1 The text has more than 1048576 bytes\./);
  });
});

describe('what is expected', () => {
  const CAD = 'cad: { limit: [{ slots: 2, for: a }], reserve: [{ slots: 1, for: b }] }';
  const RULES = `${GROUPS}products:\n  ${CAD}\nexpect:\n`;
  for (const [expectation, message] of [
    [
      '{ user: x, product: cad, held: { a: 2 }, answer: served }',
      'refused (limit 2 for a), but expected was: served',
    ],
    ['{ user: x, product: cad, held: { a: 1 }, answer: refused }', 'served, but expected was: refused'],
    [
      '{ user: x, product: cad, held: { a: 2 }, answer: refused, rule: reserve }',
      'refused (limit 2 for a), but expected was: refused (reserve)',
    ],
    [
      '{ user: x, product: cad, held: { a: 2 }, answer: refused, rule: limit 3 for a }',
      'refused (limit 2 for a), but expected was: refused (limit 3 for a)',
    ],
    [
      '{ user: y, product: cad, free: 0, answer: refused, rule: reserve }',
      'refused, because no slot is free, but expected was: refused (reserve)',
    ],
  ] as const) {
    test(`fails: ${expectation}`, () => {
      const [checked] = parse(`${RULES}  - ${expectation}`).expectations;
      const user = expectation.includes('user: y') ? 'y' : 'x';
      assert.deepEqual(checked, { line: 5, column: 5, ok: false, message: `${user} and cad: ${message}.` });
    });
  }
});
