import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseRegex, type RegexNode } from './regex-syntax.ts';
import { findWhySlow } from './regex-time.ts';

const SLOW: [title: string, regex: RegExp][] = [
  ['the header Forwarded, as it was read once', /^\s*([\w-]+)="?([^"]*)"?\s*$/],
  ['blanks at the end', /\s+$/],
  ['from a sign to the end, which a line break prevents', /%.*$/],
  ['a search for a beginning whose end never comes', /<.*>/],
  ['an optional part that is searched to the end', /a(?:.*b)?/g],
  ['two adjacent repetitions', /^\s*\s*$/],
  ['two repetitions with something optional between them', /^\d*\.?\d*$/],
  ['a repetition in a repetition', /^(?:a+)+$/],
  ['one that may be empty', /^(?:a*)*$/],
  ['a repetition in an optional part', /^(?:(?:a*)*b)?/],
  ['the same choice twice', /^(?:a|a)*$/],
  ['choices with letters in common', /^(?:\w|\d)*$/],
  ['classes that overlap only when case is ignored', /^[a-z]*[A-Z]*$/i],
  ['classes that overlap only outside of ASCII', /^\p{L}*[\u00e0-\u00ff]*$/u],
  ['a lazy repetition', /^(?:a+?)+?$/],
  ['lines', /^a.*b$/m],
];

const FAST: [title: string, regex: RegExp][] = [
  ['one repetition', /^\s*$/],
  ['repetitions with a sign between them', /^\d+\.\d+$/],
  ['a search that cannot fail once it has begun', /\s+/g],
  ['a list', /^\w+(?:,\w+)*$/],
  ['choices without letters in common', /^(?:a|b)*$/],
  ['a repetition before a letter of its own', /^[\w.-]*\w$/],
  ['a quoted text', /"[^"]*"/g],
  ['a short lookbehind', /(?<!:):\w/g],
  ['one that is tried at one position', /\s+$/y],
];

describe('an expression takes more than linear time', () => {
  for (const [title, { source, flags }] of SLOW) {
    test(title, () => assert.match(findWhySlow(source, flags) ?? '', /\S/));
  }

  test('perhaps, if it has a back reference, looks far, or is not understood', () => {
    assert.match(findWhySlow('(a)\\1', '') ?? '', /refers back/);
    assert.match(findWhySlow('a(?=.*b)', '') ?? '', /looks ahead/);
    assert.match(findWhySlow('[a--b]', 'v') ?? '', /flag v/);
  });
});

describe('an expression takes linear time', () => {
  for (const [title, { source, flags }] of FAST) {
    test(title, () => assert.equal(findWhySlow(source, flags), null));
  }

  test('if it is judged to, counted step by step on texts that repeat', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 3 });
    const anchors = fc.constantFrom(['', ''], ['^', ''], ['', '$'], ['^', '$']);
    fc.assert(
      fc.property(anyRegex(), anchors, word, word, word, (inside, [from, to], front, again, end) => {
        const source = `${from}(?:${inside})${to}`;
        fc.pre(findWhySlow(source, '') === null);
        const [few, more, most] = [16, 32, 64].map((count) =>
          countSteps(source, front + again.repeat(count) + end),
        ) as [number, number, number];
        assert.ok(most - more <= 2 * (more - few) + 16, `${source}: ${few}, ${more}, ${most}`);
      }),
      { numRuns: 500 },
    );
  });
});

/** Expressions over three letters. */
function anyRegex(): fc.Arbitrary<string> {
  const { tree } = fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.constantFrom('a', 'b', '[ab]', '[bc]', '[^c]'),
      fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((parts) => `(?:${parts.join('')})`),
      fc.array(tie('tree'), { minLength: 2, maxLength: 2 }).map((parts) => `(?:${parts.join('|')})`),
      fc.tuple(tie('tree'), fc.constantFrom('*', '+', '?')).map(([part, sign]) => `(?:${part})${sign}`),
    ),
  }));
  return tree;
}

/** More than any judgement of "linear" leaves room for. */
const TOO_MANY_STEPS = 1_000_000;

/** How many letters a backtracking matcher looks at before it finds the first match, or gives up. */
function countSteps(source: string, text: string): number {
  const { root } = parseRegex(source, '');
  let steps = 0;

  /** Matches from a place on, then goes on with the rest of the expression. */
  function run(node: RegexNode, at: number, rest: (at: number) => boolean): boolean {
    switch (node.kind) {
      case 'letter':
        steps += 1;
        assert.ok(steps < TOO_MANY_STEPS, source);
        return at < text.length && new RegExp(node.source).test(text.charAt(at)) && rest(at + 1);
      case 'assertion':
        return at === (node.isStart ? 0 : text.length) && rest(at);
      case 'choice':
        return node.parts.some((part) => run(part, at, rest));
      case 'sequence':
        return runAll(node.parts, at, rest);
      case 'repeat':
        return repeat(node, node.min, at, rest);
    }
  }

  function runAll([part, ...others]: RegexNode[], at: number, rest: (at: number) => boolean): boolean {
    return part === undefined ? rest(at) : run(part, at, (next) => runAll(others, next, rest));
  }

  function repeat(
    node: RegexNode & { kind: 'repeat' },
    owed: number,
    at: number,
    rest: (at: number) => boolean,
  ): boolean {
    const again = () =>
      run(node.body, at, (next) => {
        if (node.max === 1) return rest(next);
        return (next > at || owed > 0) && repeat(node, Math.max(0, owed - 1), next, rest);
      });
    return again() || (owed === 0 && rest(at));
  }

  const starts = Array.from({ length: text.length + 1 }, (_, at) => at);
  starts.some((start) => run(root, start, () => true));
  return steps;
}
