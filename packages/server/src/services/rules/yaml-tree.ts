import type { LineCounter, Node, YAMLParseError } from 'yaml';
import { loadYaml } from '../../parse-yaml.ts';

/** Where something begins in a text, counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A parsed text in which everything knows its place. Every value is text: `no` and `007` are names. */
export type YamlTree = { readonly at: Place } & (
  | { readonly kind: 'empty' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly YamlTree[] }
  | { readonly kind: 'map'; readonly entries: readonly YamlEntry[] }
);

interface YamlEntry {
  readonly key: string;
  readonly at: Place;
  readonly value: YamlTree;
}

/** What is wrong with a text, and where. */
export interface Mistake extends Place {
  readonly message: string;
}

/** Nobody reads more at once. */
export const MAX_MISTAKES = 100;

/** The parser calls itself for each level. */
const MAX_DEPTH = 50;
const MAX_INDENT = 200;

/** With commas, colons and brackets: 200,000 names in lists take 300 MB for some seconds. */
const MAX_WORDS = 400_000;
const TOO_MANY = `The text has more than ${MAX_WORDS} words and signs. Use patterns, ranges or a directory.`;

export function readYamlTree(text: string): YamlTree | readonly Mistake[] {
  const { LineCounter, parseDocument } = loadYaml();
  const refused = refuseSize(text);
  if (refused !== null) return [refused];
  const lines = new LineCounter();
  // Whether names are unique is looked at below: the parser compares each with all before it.
  const options = { schema: 'failsafe', uniqueKeys: false, logLevel: 'error', prettyErrors: false } as const;
  const { errors, contents } = parseDocument(text, { ...options, lineCounter: lines });
  const mistakes: Mistake[] = errors.slice(0, MAX_MISTAKES).map((error) => ({
    ...placeAt(lines, error.pos[0]),
    message: describeError(error),
  }));
  const start = { line: 1, column: 1 };
  const tree = contents === null ? ({ kind: 'empty', at: start } as const) : toTree(contents, start);
  return mistakes.length > 0 ? mistakes.slice(0, MAX_MISTAKES) : tree;

  function toTree(node: Node | null, fallback: Place): YamlTree {
    const { isAlias, isMap, isScalar, isSeq } = loadYaml();
    const at = node?.range == null ? fallback : placeAt(lines, node.range[0]);
    if (isMap<Node, Node | null>(node)) return { kind: 'map', at, entries: toEntries(node.items, at) };
    if (isSeq<Node>(node)) return { kind: 'list', at, items: node.items.map((item) => toTree(item, at)) };
    if (isAlias(node)) {
      mistakes.push({
        ...at,
        message: `"*${node.source}" refers to nothing. Put it in quotes if it is a name.`,
      });
    }
    const value = isScalar(node) ? String(node.value ?? '') : '';
    return value === '' && !isQuoted(node) ? { kind: 'empty', at } : { kind: 'text', at, text: value };
  }

  function toEntries(
    items: readonly { readonly key: Node; readonly value: Node | null }[],
    at: Place,
  ): readonly YamlEntry[] {
    const names = new Set<string>();
    return items.map(({ key, value }) => {
      const name = toTree(key, at);
      if (name.kind !== 'text') mistakes.push({ ...name.at, message: 'A name is missing before the colon.' });
      else if (names.size === names.add(name.text).size)
        mistakes.push({ ...name.at, message: 'This name was written before. Put both in one place.' });
      return { key: name.kind === 'text' ? name.text : '', at: name.at, value: toTree(value, name.at) };
    });
  }
}

function describeError({ code, message }: YAMLParseError): string {
  if (code === 'MULTIPLE_DOCS')
    return 'A second document begins here. Write all rules in one, without "---".';
  return `This is not valid YAML: ${message.replace(/[.:]?$/, '.')}`;
}

/** `""` is a text without characters, not a value that is missing. */
function isQuoted(node: Node | null): boolean {
  const type = (node as { readonly type?: string } | null)?.type;
  return type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE';
}

function placeAt(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

/** Before the text is parsed: a parser without stack left ends the process, and each word takes memory. */
function refuseSize(text: string): Mistake | null {
  const { Lexer } = loadYaml();
  let [line, brackets, dashes, words] = [1, 0, 0, 0];
  for (const word of new Lexer().lex(text)) {
    if (word === '[' || word === '{') brackets++;
    else if (word === ']' || word === '}') brackets--;
    else if (word === '-' || word === '?') dashes++;
    const indent = word.startsWith(' ') ? word.length : 0;
    if (brackets > MAX_DEPTH || dashes > MAX_DEPTH || indent > MAX_INDENT)
      return { line, column: 1, message: 'This is nested too deeply.' };
    if (word !== SCALAR && /^[^\s#]/.test(word)) words++;
    if (words > MAX_WORDS) return { line, column: 1, message: TOO_MANY };
    if (!word.includes('\n')) continue;
    line += word.split('\n').length - 1;
    dashes = 0;
  }
  return null;
}

/** What the parser puts before a word. */
const SCALAR = '\x1f';

/** The place of what the names and indexes lead to, or of the last thing on the way. */
export function findPlace(tree: YamlTree, path: readonly (string | number)[]): Place {
  let [node, at] = [tree, tree.at];
  for (const step of path) {
    const found = typeof step === 'number' ? findItem(node, step) : findEntry(node, step);
    if (found === undefined) break;
    [node, at] = [found.value, found.at];
  }
  return at;
}

function findItem(node: YamlTree, index: number): Omit<YamlEntry, 'key'> | undefined {
  const item = node.kind === 'list' ? node.items[index] : undefined;
  return item === undefined ? undefined : { at: item.at, value: item };
}

function findEntry(node: YamlTree, key: string): YamlEntry | undefined {
  return node.kind === 'map' ? node.entries.find((entry) => entry.key === key) : undefined;
}
