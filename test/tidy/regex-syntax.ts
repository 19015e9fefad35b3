/** A regular expression as a tree: as much of the syntax as the project uses, and an error for the rest. */
export type RegexNode =
  /** Takes one character. `id` is its place in the expression, `source` how it is written. */
  | { kind: 'letter'; id: number; source: string }
  | { kind: 'sequence' | 'choice'; parts: RegexNode[] }
  | { kind: 'repeat'; body: RegexNode; min: number; max: number }
  /** Takes nothing, and may fail: `^`, `$`, `\b` and looks to either side. */
  | { kind: 'assertion'; isStart: boolean };

/** What cannot be judged, in a sentence. */
export class RegexSyntaxError extends Error {}

export function parseRegex(source: string, flags: string): { root: RegexNode; letters: string[] } {
  if (flags.includes('v')) throw new RegexSyntaxError('the flag v is not known here');
  const reader = new RegexReader(source, flags.includes('u'));
  return { root: reader.readChoice(), letters: reader.letters };
}

const LOOK = /\(\?<?[=!]/y;
const GROUP = /\((?:\?:|\?<\w+>)?/y;
const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/y;
const ESCAPE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|u\{[\da-fA-F]+\}|[pP]\{[^}]*\}|c[A-Za-z]|[\s\S])/y;
const COUNT = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const COUNTS: Record<string, [min: number, max: number]> = {
  '*': [0, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
  '?': [0, 1],
};

class RegexReader {
  readonly letters: string[] = [];
  readonly #source: string;
  readonly #isUnicode: boolean;
  #at = 0;

  constructor(source: string, isUnicode: boolean) {
    this.#source = source;
    this.#isUnicode = isUnicode;
  }

  readChoice(): RegexNode {
    const parts = [this.#readSequence()];
    while (this.#take(/\|/y) !== undefined) parts.push(this.#readSequence());
    return { kind: 'choice', parts };
  }

  #readSequence(): RegexNode {
    const parts: RegexNode[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source.charAt(this.#at))) {
      parts.push(this.#readCount(this.#readAtom()));
    }
    return { kind: 'sequence', parts };
  }

  #readAtom(): RegexNode {
    const anchor = this.#take(/[\^$]|\\[bB]/y)?.[0];
    if (anchor !== undefined) return { kind: 'assertion', isStart: anchor === '^' };
    if (this.#take(LOOK) !== undefined) return this.#readLook();
    if (this.#take(GROUP) !== undefined) return this.#readGroup();
    if (this.#take(/\\[1-9k]/y) !== undefined) {
      throw new RegexSyntaxError('it refers back to what it has matched, which can take any time');
    }
    const written =
      this.#take(CLASS) ?? this.#take(ESCAPE) ?? this.#take(this.#isUnicode ? /[\s\S]/uy : /[\s\S]/y);
    if (written === undefined) throw new RegexSyntaxError('it ends too early');
    return { kind: 'letter', id: this.letters.push(written[0]) - 1, source: written[0] };
  }

  #readGroup(): RegexNode {
    const body = this.readChoice();
    if (this.#take(/\)/y) === undefined) throw new RegexSyntaxError('it has a group that does not end');
    return body;
  }

  /** A look of bounded length costs the same everywhere. Its letters take nothing from the text. */
  #readLook(): RegexNode {
    const count = this.letters.length;
    const body = this.#readGroup();
    if (isUnbounded(body)) throw new RegexSyntaxError('it looks ahead or behind without a bound');
    this.letters.length = count;
    return { kind: 'assertion', isStart: false };
  }

  #readCount(body: RegexNode): RegexNode {
    const found = this.#take(COUNT);
    if (found === undefined) return body;
    const [, sign = '', min = '', comma, max = ''] = found;
    const [from, to] = COUNTS[sign] ?? [
      Number(min),
      comma === undefined ? Number(min) : Number(max || Infinity),
    ];
    return { kind: 'repeat', body, min: from, max: to };
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}

function isUnbounded(node: RegexNode): boolean {
  if (node.kind === 'repeat') return node.max === Number.POSITIVE_INFINITY || isUnbounded(node.body);
  return 'parts' in node && node.parts.some(isUnbounded);
}
