import type { RegexNode } from './regex-syntax.ts';

/** The letters of an expression, and which can follow which. */
export interface Automaton {
  /** How each letter is written; the last may be the one that stands for the text before a match. */
  letters: string[];
  /** To which letters one can go from a letter, and in how many ways: once, or more often. */
  follow: Ways[];
  /** The letters after which the expression has matched, whatever comes. */
  isEnd: boolean[];
}

/** What a search skips in front of a match. */
export const ANYTHING = '[\\s\\S]';

/** Letters by their number, with 1 for one way to get there and 2 for several. */
type Ways = Map<number, number>;

interface Part {
  first: Ways;
  last: Ways;
  /** In how many ways it can take nothing. */
  empty: number;
}

/**
 * The automaton of an expression that is searched for, or, with `^` at the beginning of every choice or the
 * flag y, tried at one place only. A repetition with a bound is taken for one without: what is fast without
 * is fast with it.
 */
export function buildAutomaton(root: RegexNode, letters: string[], flags: string): Automaton {
  const follow = letters.map(() => new Map<number, number>());
  const { first } = build(root, { follow, assertion: 1 });
  const ends = build(root, { follow: letters.map(() => new Map()), assertion: 0 }).last;
  const isEnd = letters.map((_, id) => ends.has(id));
  const isAnchored = flags.includes('y') || (!flags.includes('m') && beginsAtStart(root));
  if (isAnchored) return { letters, follow, isEnd };
  const start = letters.length;
  return {
    letters: [...letters, ANYTHING],
    follow: [...follow, merge(first, new Map([[start, 1]]))],
    isEnd: [...isEnd, false],
  };
}

function beginsAtStart(node: RegexNode): boolean {
  if (node.kind === 'assertion') return node.isStart;
  if (node.kind === 'choice') return node.parts.every(beginsAtStart);
  return node.kind === 'sequence' && node.parts[0] !== undefined && beginsAtStart(node.parts[0]);
}

interface Building {
  follow: Ways[];
  /** In how many ways an assertion is passed: 1, or 0 where nothing may depend on it. */
  assertion: 0 | 1;
}

const NOTHING: Part = { first: new Map(), last: new Map(), empty: 1 };

function build(node: RegexNode, building: Building): Part {
  switch (node.kind) {
    case 'assertion':
      return { ...NOTHING, empty: building.assertion };
    case 'letter': {
      const only = new Map([[node.id, 1]]);
      return { first: only, last: only, empty: 0 };
    }
    case 'choice':
      return node.parts.map((part) => build(part, building)).reduce(either);
    case 'sequence':
      return node.parts
        .map((part) => build(part, building))
        .reduce((one, other) => then(one, other, building), NOTHING);
    case 'repeat':
      return repeat(node, building);
  }
}

function repeat({ body, min, max }: RegexNode & { kind: 'repeat' }, building: Building): Part {
  const part = build(body, building);
  if (max > 1) connect(part, part, building);
  const repeated = min === 0 ? either(part, NOTHING) : part;
  // Until it has come often enough, nothing has matched.
  return min > 1 ? then(repeated, { ...NOTHING, empty: building.assertion }, building) : repeated;
}

function either(one: Part, other: Part): Part {
  return {
    first: merge(one.first, other.first),
    last: merge(one.last, other.last),
    empty: Math.min(2, one.empty + other.empty),
  };
}

function then(one: Part, other: Part, building: Building): Part {
  connect(one, other, building);
  return {
    first: merge(one.first, other.first, one.empty),
    last: merge(other.last, one.last, other.empty),
    empty: Math.min(2, one.empty * other.empty),
  };
}

function connect({ last }: Part, { first }: Part, { follow }: Building): void {
  for (const [from, ways] of last) follow[from] = merge(follow[from] as Ways, first, ways);
}

function merge(one: Ways, other: Ways, times = 1): Ways {
  const merged = new Map(one);
  if (times === 0) return merged;
  for (const [id, ways] of other) merged.set(id, Math.min(2, (merged.get(id) ?? 0) + ways * times));
  return merged;
}
