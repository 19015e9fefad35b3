import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  HOSTILE_RULES,
  LARGE_AND_SENSIBLE,
  WORST_ACCEPTED,
} from '../../../../../test/support/hostile-rules.ts';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { EMPTY_RULE_SET, NO_NAMES } from '../../../src/core/rules/rule-set.ts';
import { createDirectoryGroups } from '../../../src/services/rules/directory-groups.ts';
import { parseRules } from '../../../src/services/rules/parse-rules.ts';
import { createRuleBook } from '../../../src/services/rules/rule-book.ts';
import { openRulesFile } from '../../../src/services/rules/rules-file.ts';
import { runTaskHere } from '../../../src/services/tasks/task.ts';
import { register } from '../../core/examples.ts';

function refusalOf(text: string) {
  const parsed = parseRules(text);
  return 'errors' in parsed ? parsed.errors[0] : null;
}

const times = (many: number, write: (n: number) => string) =>
  Array.from({ length: many }, (_, n) => write(n)).join('');

describe('a text of rules that costs too much', () => {
  test('has too many members, with those of groups within', () => {
    assert.deepEqual(refusalOf(HOSTILE_RULES['the same with 300 expectations']), {
      line: 1,
      column: 1,
      message:
        '"groups" has more than 5000000 members of groups, with those of groups within. ' +
        'Nest fewer groups within each other.',
    });
  });

  test('has too many patterns', () => {
    assert.match(
      refusalOf(HOSTILE_RULES['90,000 patterns'])?.message ?? '',
      /^"groups" has more than 20000 names/,
    );
    const many = times(9000, (n) => `"*${n}",`);
    const deny = `deny: { users: [${many}], hosts: [${many}] }\n`;
    assert.equal(refusalOf(deny), null);
    const more = `${deny}products: { cad: { deny: { users: [${many}] } } }`;
    assert.match(refusalOf(more)?.message ?? '', /^The text has more than 20000 names with a star/);
  });

  test('has too many words, and is not parsed', () => {
    const { line, message } = refusalOf(HOSTILE_RULES['490,000 entries']) ?? {};
    assert.equal(line, 21);
    assert.match(message ?? '', /^The text has more than 400000 words and signs\. Use patterns/);
  });

  test('needs too many comparisons for its examples', () => {
    const reserve = times(16, (n) => `{ slots: 1, for: g${n} }, `);
    const held = times(400, (n) => `g${n}: 1, `);
    const text = `groups:
${times(400, (n) => `  g${n}: {}\n`)}products: { cad: { reserve: [${reserve}] } }
expect:
${times(3, () => `  - { user: a, product: cad, held: { ${held} }, answer: served }\n`)}`;
    assert.match(refusalOf(text)?.message ?? '', /^"expect" has more than 100000000 comparisons/);
  });

  test('is one that nobody writes by hand', () => {
    assert.equal(refusalOf(LARGE_AND_SENSIBLE), null);
    assert.equal(refusalOf(WORST_ACCEPTED), null);
    assert.equal(refusalOf(HOSTILE_RULES['90,000 times the same pattern']), null);
  });
});

describe('rules in force that cost too much', () => {
  const TEXT = HOSTILE_RULES['90,000 patterns'];
  /** As an earlier release has stored them. */
  const RULES = {
    ...EMPTY_RULE_SET,
    groups: { g0: { ...NO_NAMES, users: Array.from({ length: 90_000 }, (_, n) => `*${n.toString(36)}*`) } },
    products: {
      cad: {
        allow: null,
        deny: { ...NO_NAMES, groups: ['g0'] },
        reserve: [],
        limit: [],
        borrow: null,
        priority: [],
        features: {},
      },
    },
  };

  test('are obeyed, described, and kept when the server starts with their file', async (t) => {
    const { store, folder } = await openTestStore(t, [testLicense(1)]);
    await store.execute({ kind: 'set_rules', text: TEXT, rules: RULES, by: 'admin' });
    writeFileSync(join(folder, 'rules.yaml'), TEXT);
    const groups = createDirectoryGroups(store, null);
    const book = createRuleBook(store, openRulesFile({ rules: '', data: folder }), groups, runTaskHere);
    assert.deepEqual(await book.begin(), { kind: 'unchanged' });
    const { applied, fileError, warnings } = await book.describe();
    assert.deepEqual([applied?.text === TEXT, fileError, warnings], [true, null, []]);
    const outcome = await store.execute(register('ann', { product: 'cad' }));
    assert.equal(outcome.kind, 'refused');
    writeFileSync(join(folder, 'rules.yaml'), `${TEXT}# changed\n`);
    const changed = await book.begin();
    assert.match(changed.kind === 'refused' ? changed.reason : '', /more than 20000 names with a star/);
    assert.equal((await book.describe()).applied?.text, TEXT);
  });

  test('are applied and reverted to, as they are in force already', async (t) => {
    const { store, folder } = await openTestStore(t, [testLicense(1)]);
    await store.execute({ kind: 'set_rules', text: TEXT, rules: RULES, by: 'admin' });
    const groups = createDirectoryGroups(store, null);
    const book = createRuleBook(store, openRulesFile({ rules: '', data: folder }), groups, runTaskHere);
    const same = { revision: 1, isNew: false, warnings: [] };
    assert.deepEqual(await book.apply(TEXT, undefined, 'admin'), same);
    assert.deepEqual(await book.revert(1, 'admin'), same);
    await assert.rejects(book.apply(`${TEXT}# changed\n`, undefined, 'admin'), { code: 'rules_not_valid' });
  });

  test('may have names that are refused today', async (t) => {
    const text = 'deny: { users: ["ann\u202e"] }\n';
    assert.match(refusalOf(text)?.message ?? '', /U\+202E/);
    const { store, folder } = await openTestStore(t, [testLicense(1)]);
    const rules = { ...EMPTY_RULE_SET, deny: { ...NO_NAMES, users: ['ann\u202e'] } };
    await store.execute({ kind: 'set_rules', text, rules, by: 'admin' });
    writeFileSync(join(folder, 'rules.yaml'), text);
    const groups = createDirectoryGroups(store, null);
    const book = createRuleBook(store, openRulesFile({ rules: '', data: folder }), groups, runTaskHere);
    assert.deepEqual(await book.begin(), { kind: 'unchanged' });
    assert.equal((await book.describe()).fileError, null);
  });
});
