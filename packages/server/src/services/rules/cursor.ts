import { escapeUnprintable } from '@berth/protocol/hidden-characters';
import { suggest } from '@berth/protocol/suggest';
import { explainUnfit } from '../../core/nouns/user-name.ts';
import { MAX_MISTAKES, type Mistake, type Place, type YamlTree } from './yaml-tree.ts';

/**
 * A value in the text of the rules, with the names that lead to it. What is wrong is collected, so that all
 * of it is reported at once; readers then return something harmless.
 */
export class Cursor {
  readonly path: string;
  readonly at: Place;
  readonly #tree: YamlTree;
  readonly #mistakes: Mistake[];

  constructor(tree: YamlTree, mistakes: Mistake[], path = '', at = tree.at) {
    this.#tree = tree;
    this.#mistakes = mistakes;
    this.path = path;
    this.at = at;
  }

  /** A section with only comments is empty. */
  get isEmpty(): boolean {
    return this.#tree.kind === 'empty';
  }

  get isList(): boolean {
    return this.#tree.kind === 'list';
  }

  /** `problem` continues the name of the value, such as `is empty.` A hint may take time. */
  fail(problem: string, at: Place = this.#tree.at, hint = () => ''): void {
    if (this.#mistakes.length >= MAX_MISTAKES) return;
    const name = this.path === '' ? 'The text' : `"${this.path}"`;
    const found = this.#mistakes.length < MAX_HINTS ? hint() : '';
    const message = escapeUnprintable(shorten(`${name} ${problem}`)) + found;
    this.#mistakes.push({ line: at.line, column: at.column, message });
  }

  /** The values of a section whose names are fixed. An unknown one is a mistake: a typo must not pass. */
  fields<Name extends string>(known: readonly Name[]): Partial<Record<Name, Cursor>> {
    const words = known.map((name) => `"${name}"`).join(', ');
    const given = this.entries(`must contain ${words}.`);
    for (const [name, field] of given) {
      if (known.includes(name as Name)) continue;
      field.fail('is unknown.', field.at, () => suggest(name, known) || ` Use ${words}.`);
    }
    return Object.fromEntries(given) as Partial<Record<Name, Cursor>>;
  }

  /** The values of a section with names of the administrator's choice. */
  entries(problem = 'must contain names with a colon.'): readonly (readonly [string, Cursor])[] {
    if (this.#tree.kind === 'empty') return [];
    if (this.#tree.kind !== 'map') {
      this.fail(problem);
      return [];
    }
    const inside = this.path === '' ? '' : `${this.path}.`;
    return this.#tree.entries.map(({ key, at, value }) => {
      const one = new Cursor(value, this.#mistakes, inside + key, at);
      return [one.#requireFit(key, at), one];
    });
  }

  items(max: number): readonly Cursor[] {
    if (this.#tree.kind === 'empty') return [];
    if (this.#tree.kind !== 'list') {
      const example = this.#tree.kind === 'text' ? `: [${this.#tree.text}]` : '';
      this.fail(`must be a list${example}.`);
      return [];
    }
    const { items } = this.#tree;
    if (items.length > max) this.fail(`has ${items.length} entries; at most ${max} are allowed.`);
    return items
      .slice(0, max)
      .map((item, index) => new Cursor(item, this.#mistakes, `${this.path}[${index}]`));
  }

  text(): string | null {
    if (this.#tree.kind === 'text') return this.#requireFit(this.#tree.text);
    this.fail(this.#tree.kind === 'empty' ? 'is empty.' : 'must be text.');
    return null;
  }

  /** Rules must not name somebody else than they seem to. */
  #requireFit(text: string, at = this.#tree.at): string {
    const problem = explainUnfit(text);
    if (problem !== null) this.fail(`${problem}.`, at);
    return text;
  }

  /** A name of a fixed list. */
  choice<Name extends string>(known: readonly Name[], kind: string): Name | null {
    const text = this.text();
    if (text === null || known.includes(text as Name)) return text as Name | null;
    const listed = known.length === 0 || known.length > MAX_LISTED ? '' : ` Use ${known.join(', ')}.`;
    this.fail(`is "${text}", which is no ${kind}.`, this.#tree.at, () => suggest(text, known) || listed);
    return null;
  }

  wholeNumber(min: number, max: number): number | null {
    const text = this.text();
    if (text === null) return null;
    const value = /^-?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    this.fail(`is "${text}"; it must be a whole number from ${min} to ${max}.`);
    return null;
  }
}

/** To find out what was meant takes a while. */
const MAX_HINTS = 20;

/** A message repeats what is written, which may have any length. */
const MAX_MESSAGE = 500;

function shorten(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE)}…`;
}

/** A longer list of choices would hide the message. */
const MAX_LISTED = 10;
