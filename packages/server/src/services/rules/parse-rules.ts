import { RequestError } from '@berth/protocol/request-error';
import { LIMITS } from '../../config.ts';
import { checkExpectation } from '../../core/rules/expectation.ts';
import { MAX_RULE_COSTS, measureRules, type RuleCosts } from '../../core/rules/rule-costs.ts';
import type { RuleSet } from '../../core/rules/rule-set.ts';
import { listWarnings, type ProductFacts } from '../../core/rules/warnings.ts';
import { Cursor } from './cursor.ts';
import { readExpectations } from './read-expectations.ts';
import { readGroups, readNames } from './read-groups.ts';
import { type Known, linesOf, readProducts } from './read-products.ts';
import { readTimes } from './read-times.ts';
import { findPlace, type Mistake, readYamlTree, type YamlTree } from './yaml-tree.ts';

/** Rules that can be applied. */
export interface ParsedRules {
  readonly rules: RuleSet;
  /** The entries of `expect`, in order. */
  readonly expectations: readonly CheckedExpectation[];
  /** What may not be meant. */
  readonly warnings: readonly Mistake[];
}

interface CheckedExpectation extends Mistake {
  readonly ok: boolean;
}

/** Why a text cannot be applied; there is at least one error. */
export interface RuleErrors {
  readonly errors: readonly Mistake[];
}

/**
 * Reads the text of the rules. Every value is text, so a user "007" or "no" needs no quotes. Nothing is
 * guessed: with one mistake the whole text is refused, because a typo would silently give slots to others.
 * `products`: those of the server, if they are known. `hasDirectory`: whether its settings name one.
 */
export function parseRules(
  text: string,
  products: readonly ProductFacts[] | null = null,
  hasDirectory = true,
): ParsedRules | RuleErrors {
  const refused = refuseText(text);
  if (refused !== null) return { errors: [{ line: 1, column: 1, message: refused }] };
  const tree = readYamlTree(text);
  return 'kind' in tree ? readRules(tree, products, hasDirectory) : { errors: tree };
}

/** A text whose own examples fail is not applied either. They depend on nothing but the text. */
export function refuseFailed(parsed: ParsedRules | RuleErrors): ParsedRules | RuleErrors {
  if ('errors' in parsed) return parsed;
  const failed = parsed.expectations.filter(({ ok }) => !ok);
  if (failed.length === 0) return parsed;
  const errors = failed.map(({ line, column, message }) => ({
    line,
    column,
    message: `An entry of "expect" fails: ${message}`,
  }));
  return { errors };
}

export function refuseErrors({ errors }: RuleErrors): RequestError {
  const [first, ...others] = errors;
  const more = others.length === 0 ? '' : ` There are ${others.length} more errors.`;
  const message = `In line ${first?.line}, column ${first?.column}: ${first?.message}${more}`;
  const place = { line: first?.line ?? 1, column: first?.column ?? 1 };
  return new RequestError('rules_not_valid', `${message} The rules in force have not changed.`, place);
}

function refuseText(text: string): string | null {
  if (text.trim() === '') return 'The text is empty. To lift all rules, write "deny: {}".';
  // Names would silently be others. U+FFFD is what a file with another encoding is read as.
  if (!text.isWellFormed() || text.includes('\ufffd'))
    return 'The text is not valid UTF-8. Save it as UTF-8.';
  if (Buffer.byteLength(text) <= LIMITS.rulesBytes) return null;
  return `The text has more than ${LIMITS.rulesBytes} bytes. Use patterns and ranges.`;
}

function readRules(
  tree: YamlTree,
  products: readonly ProductFacts[] | null,
  hasDirectory: boolean,
): ParsedRules | RuleErrors {
  const errors: Mistake[] = [];
  const sections = new Cursor(tree, errors).fields(['groups', 'times', 'deny', 'products', 'expect']);
  const groups = readGroups(sections.groups, hasDirectory);
  const times = readTimes(sections.times);
  const known: Known = { groups: new Set(Object.keys(groups)), times: Object.keys(times) };
  const rules: RuleSet = {
    groups,
    times,
    deny: readNames(sections.deny, known.groups),
    products: readProducts(sections.products, known),
    lines: linesOf({ deny: sections.deny }),
  };
  const expectations = readExpectations(sections.expect, known);
  if (errors.length === 0) refuseCosts(new Cursor(tree, errors), sections, measureRules(rules, expectations));
  if (errors.length > 0) return { errors: inOrder(errors) };
  const warnings = listWarnings(rules, products).map(({ path, message }) => ({
    ...findPlace(tree, path),
    message,
  }));
  return {
    rules,
    expectations: expectations.map((one) => ({ ...one.place, ...checkExpectation(rules, one) })),
    warnings: inOrder(warnings),
  };
}

const TOO_MUCH: Readonly<Record<keyof RuleCosts, string>> = {
  compared: 'names with a star and lengths of ranges, with which each request is compared',
  members: 'members of groups, with those of groups within',
  steps: 'comparisons for "expect" and for warnings about reservations',
};

const ADVICE: Readonly<Record<keyof RuleCosts, string>> = {
  compared: 'Use whole names, or fewer patterns that match more.',
  members: 'Nest fewer groups within each other.',
  steps: 'Write fewer patterns, expectations or reservations.',
};

/** Before the examples are run: what comes next takes as long as was counted. */
function refuseCosts(text: Cursor, { groups, expect }: Sections, costs: RuleCosts): void {
  const where = { compared: groups, members: groups, steps: expect };
  for (const kind of ['compared', 'members', 'steps'] as const) {
    const most = MAX_RULE_COSTS[kind];
    if (costs[kind] <= most) continue;
    const problem = `has more than ${most} ${TOO_MUCH[kind]}. ${ADVICE[kind]}`;
    (where[kind] ?? text).fail(problem, where[kind]?.at);
  }
}

type Sections = Partial<Record<'groups' | 'expect', Cursor>>;

function inOrder(mistakes: readonly Mistake[]): readonly Mistake[] {
  return mistakes.toSorted((a, b) => a.line - b.line || a.column - b.column);
}
