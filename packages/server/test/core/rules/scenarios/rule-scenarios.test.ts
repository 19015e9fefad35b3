import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { ProductRules } from '../../../../src/core/rules/rule-set.ts';
import { parseRules } from '../../../../src/services/rules/parse-rules.ts';
import { KINDS } from './kinds.ts';
import { PAIRS } from './pairs.ts';
import { GROUPS, play, type Row, readRules } from './play.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-scenarios-'));
after(() => rmSync(folder, { recursive: true }));

function exercise(rows: readonly Row[]): void {
  for (const row of rows) test(row[0], () => play(folder, row));
}

describe('each kind of rule', () => exercise(KINDS));
describe('two kinds of rules', () => exercise(PAIRS));

/** What rules of several sections may have: a time, and groups within groups. */
const MODIFIERS = ['during', 'groups'];
const { lines: _, ...NO_RULES } = readRules('').rules.products.cad as ProductRules;

test('every kind of rule has a row of its own, and one with each other kind', () => {
  const kinds = [...Object.keys(NO_RULES), ...MODIFIERS];
  const rows = [...KINDS, ...PAIRS].map(([, rules]) => kindsOf(rules));
  const isAlone = (kind: string) => rows.some(({ sections, all }) => all.has(kind) && sections.length === 1);
  const isWith = (a: string, b: string) =>
    rows.some(({ sections, all }) => all.has(a) && all.has(b) && sections.length <= 2);
  const pairs = kinds.flatMap((a, index) => kinds.slice(index + 1).map((b) => [a, b] as const));
  const missing = [
    ...kinds.filter((kind) => !isAlone(kind)),
    ...pairs.filter((pair) => !isWith(...pair)).map((pair) => pair.join(' and ')),
  ];
  assert.deepEqual(missing, []);
});

/** Which kinds of rules a text has. */
function kindsOf(rules: string) {
  const own = readRules(rules).rules.products.cad as ProductRules;
  const sections = Object.entries(NO_RULES).flatMap(([name, none]) =>
    isDeepStrictEqual(own[name as keyof ProductRules], none) ? [] : [name],
  );
  const modifiers = [rules.includes('during:') ? 'during' : '', rules.includes('staff') ? 'groups' : ''];
  return { sections, all: new Set([...sections, ...modifiers]) };
}

test('deny at the top holds for every product, also for those without rules', () => {
  const expect = (product: string) => `  - { user: eve, product: ${product}, answer: refused, rule: deny }`;
  const parsed = parseRules(
    `${GROUPS}deny: { groups: [guests] }\nexpect:\n${expect('cad')}\n${expect('constructor')}`,
  );
  assert.ok(!('errors' in parsed));
  assert.deepEqual(
    parsed.expectations.map(({ ok }) => ok),
    [true, true],
  );
});
