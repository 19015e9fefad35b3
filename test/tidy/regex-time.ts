import { ANYTHING, type Automaton, buildAutomaton } from './regex-automaton.ts';
import { parseRegex, RegexSyntaxError } from './regex-syntax.ts';

/**
 * Why an expression may take more than linear time, as the rest of a sentence; `null` if it never does.
 *
 * A backtracking matcher tries, at worst, every way in which the expression can read a text. Their number
 * grows with the text exactly if there are two letters `p` and `q` of the expression and a text that leads
 * from `p` back to `p`, from `p` to `q`, and from `q` back to `q`: repeated n times, it can be cut between
 * the two anywhere (Weber and Seidl, "On the degree of ambiguity of finite automata"). A search begins
 * anywhere, so the text in front of a match counts as such a `p`. Ways in which nothing can go wrong any more
 * do not count, because the first of them is taken.
 */
export function findWhySlow(source: string, flags: string): string | null {
  try {
    const { root, letters } = parseRegex(source, flags);
    return findAmbiguity(buildAutomaton(root, letters, flags), flags);
  } catch (error) {
    if (error instanceof RegexSyntaxError) return error.message;
    throw error;
  }
}

function findAmbiguity(automaton: Automaton, flags: string): string | null {
  const { letters, follow } = automaton;
  const reach = letters.map((_, id) => reachableFrom(id, automaton));
  const isSafe = reach.map((ids, id) => [id, ...ids].every((other) => automaton.isEnd[other]));
  const isOnCircle = (id: number) => (reach[id] as Set<number>).has(id);
  const isSameCircle = (one: number, other: number) =>
    (reach[one] as Set<number>).has(other) && (reach[other] as Set<number>).has(one);
  const judged = letters.map((_, id) => id).filter((id) => isOnCircle(id) && !isSafe[id]);
  for (const p of judged) {
    for (const [next, ways] of follow[p] as Map<number, number>) {
      if (ways > 1 && isSameCircle(p, next)) return `${letters[p]} is repeated within a repetition`;
    }
  }
  const pairs = judged.flatMap((p) =>
    judged.filter((q) => p !== q && reach[p]?.has(q)).map((q) => [p, q] as const),
  );
  if (pairs.length === 0) return null;
  const alphabet = findAlphabet(letters, flags);
  const found = pairs.find(([p, q]) => canBeCut({ p, q, follow, isSameCircle, alphabet }));
  if (found === undefined) return null;
  return `a text can be cut anywhere between ${nameOf(found[0], automaton)} and ${letters[found[1]]}`;
}

function nameOf(id: number, { letters }: Automaton): string {
  return id === letters.length - 1 && letters[id] === ANYTHING ? 'what is skipped' : String(letters[id]);
}

function reachableFrom(id: number, { follow }: Automaton): Set<number> {
  const reached = new Set<number>();
  const waiting = [id];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const next of (follow[at] as Map<number, number>).keys()) {
      if (!reached.has(next)) waiting.push(next);
      reached.add(next);
    }
  }
  return reached;
}

interface Cut {
  p: number;
  q: number;
  follow: Automaton['follow'];
  isSameCircle(one: number, other: number): boolean;
  /** For each kind of character, which letters take it. */
  alphabet: Set<number>[];
}

/** Whether one text leads from p to p, from p to q and from q to q. */
function canBeCut({ p, q, follow, isSameCircle, alphabet }: Cut): boolean {
  const seen = new Set<string>();
  const waiting: [number, number, number][] = [[p, p, q]];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const [a, b, c] = at.map((id) => [...(follow[id] as Map<number, number>).keys()]) as [
      number[],
      number[],
      number[],
    ];
    for (const taken of alphabet) {
      const toA = a.filter((id) => taken.has(id) && isSameCircle(id, p));
      const toC = c.filter((id) => taken.has(id) && isSameCircle(id, q));
      const toB = toA.length === 0 || toC.length === 0 ? [] : b.filter((id) => taken.has(id));
      const next = toA.flatMap((x) =>
        toB.flatMap((y) => toC.map((z) => [x, y, z] as [number, number, number])),
      );
      for (const triple of next) {
        if (triple.join() === [p, q, q].join()) return true;
        if (!seen.has(triple.join())) waiting.push(triple);
        seen.add(triple.join());
      }
    }
  }
  return false;
}

/** Every script in use here, and whatever Unicode has for blanks, controls and forms of width. */
const CHARACTERS = [
  ...Array.from({ length: 0x3100 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 0x200 }, (_, code) => String.fromCharCode(0xfe00 + code)),
  '\u4e2d',
  '\ud7ff',
  '\ue000',
];

const takenBy = new Map<string, boolean[]>();

function charactersOf(letter: string, flags: string): boolean[] {
  const kept = flags.replace(/[^ius]/g, '');
  return takenBy.getOrInsertComputed(`${kept} ${letter}`, () => {
    const taking = new RegExp(`^(?:${letter})$`, kept);
    return CHARACTERS.map((character) => taking.test(character));
  });
}

/** Characters that the same letters take are one kind. */
function findAlphabet(letters: string[], flags: string): Set<number>[] {
  const taken = letters.map((letter) => charactersOf(letter, flags));
  const kinds = new Map<string, Set<number>>();
  const different = [...new Set(taken)];
  for (const index of CHARACTERS.keys()) {
    const kind = different.map((takes) => (takes[index] ? 'x' : '-')).join('');
    kinds.getOrInsertComputed(kind, () => new Set([...taken.keys()].filter((id) => taken[id]?.[index])));
  }
  return [...kinds.values()];
}
