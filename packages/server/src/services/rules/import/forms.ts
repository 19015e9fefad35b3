import type { Draft, GroupKind } from './draft.ts';
import type { OptionLine } from './option-lines.ts';
import { type Listed, readHost, readInternet, readUser, type Who } from './who.ts';

/** What became of a line of an options file. */
export interface ReportedLine {
  readonly line: number;
  readonly source: string;
  readonly verdict: 'taken' | 'differs' | 'dropped';
  /** How, and what to do instead. */
  readonly message: string;
}

type Result = Pick<ReportedLine, 'verdict' | 'message'>;

/** Reads a line into the draft. The keyword is the first word. */
export type Form = (draft: Draft, line: OptionLine) => Result;

export const taken = (message: string): Result => ({ verdict: 'taken', message });
export const differs = (message: string): Result => ({ verdict: 'differs', message });
export const dropped = (message: string): Result => ({ verdict: 'dropped', message });

/** A product, and whom a line is about. */
interface Target {
  readonly product: string;
  readonly who: Exclude<Who, { readonly problem: string }>;
}

/** Defines a group: `GROUP name member …`. */
export function groupForm(kind: GroupKind): Form {
  return (draft, { words: [, name, ...members] }) => {
    if (name === undefined) return dropped('It names no group.');
    const read = members.map(MEMBER_OF[kind]);
    const listed = read.filter((one): one is Listed => 'list' in one);
    const problems = read.flatMap((one) => ('problem' in one ? [one.problem] : []));
    const own = draft.addGroup(kind, name, listed);
    const renamed = own === name ? [] : [`The group is called ${own} here`];
    const notes = [...renamed, ...problems];
    return notes.length === 0 ? taken(`Group ${own}.`) : differs(`${notes.join('. ')}.`);
  };
}

const MEMBER_OF: Readonly<Record<GroupKind, (name: string) => Listed | { readonly problem: string }>> = {
  GROUP: readUser,
  HOST_GROUP: readHost,
  INTERNET_GROUP: readInternet,
};

/** `KEYWORD product type name` */
export function targetForm(take: (draft: Draft, target: Target) => Result): Form {
  return (draft, { words: [, ...words] }) => withTarget(draft, words, (target) => take(draft, target));
}

/** `KEYWORD number product type name` */
export function countedForm(take: (draft: Draft, count: number, target: Target) => Result): Form {
  return (draft, { words: [, number = '', ...words] }) => {
    const count = readCount(number);
    if (count === null) return dropped(`"${number}" is no number.`);
    return withTarget(draft, words, (target) => take(draft, count, target));
  };
}

/** `KEYWORD type name`, for all products. */
export function everywhereForm(take: (draft: Draft, who: Target['who']) => Result): Form {
  return (draft, { words: [, type = '', name = ''] }) => {
    const who = readWho(draft, type, name);
    return 'problem' in who ? dropped(`${who.problem}.`) : take(draft, who);
  };
}

export function readCount(word: string | undefined): number | null {
  return /^\d{1,6}$/.test(word ?? '') ? Number(word) : null;
}

function withTarget(draft: Draft, words: readonly string[], take: (target: Target) => Result): Result {
  const [spec = '', type = '', name = '', ...rest] = words;
  return withProduct(spec, rest, (product) => {
    const who = readWho(draft, type, name);
    return 'problem' in who ? dropped(`${who.problem}.`) : take({ product, who });
  });
}

/** `feature:VERSION=2.0` and `id=7` choose among the licenses of a product, which rules do not. */
export function withProduct(
  spec: string,
  rest: readonly string[],
  take: (product: string) => Result,
): Result {
  const [product, ...parts] = spec.split(':');
  if (!product) return dropped('It names no product.');
  const result = take(product);
  const chosen = [...parts, ...rest];
  if (chosen.length === 0 || result.verdict === 'dropped') return result;
  return differs(`${result.message} It holds for all licenses of ${product}, without ${chosen.join(' ')}.`);
}

function readWho(draft: Draft, type: string, name: string): Who {
  const kind = type.toUpperCase();
  if (name === '') return { problem: 'It is not complete: a type and a name belong to it' };
  if (kind in MEMBER_OF || kind === 'USER_GROUP') {
    const group = draft.findGroup((kind === 'USER_GROUP' ? 'GROUP' : kind) as GroupKind, name);
    return group === null ? { problem: `The file defines no ${kind} ${name}` } : { group };
  }
  if (kind === 'USER') return readUser(name);
  if (kind === 'HOST') return readHost(name);
  if (kind === 'INTERNET') return readInternet(name);
  const instead = 'Name users, hosts or addresses instead';
  if (kind === 'DISPLAY' || kind === 'PROJECT') return { problem: `Requests have no ${kind}. ${instead}` };
  return { problem: `"${type}" is no type of a name. ${instead}` };
}

export const reserve = countedForm((draft, slots, { product, who }) => {
  if (slots === 0) return dropped('It reserves nothing.');
  const group = draft.groupOf(who);
  if (!draft.reserve(product, slots, group))
    return dropped(`${product} has 16 reservations already. Join groups.`);
  return taken(`reserve ${slots} for ${group}. Every slot that its members hold counts.`);
});

export const max = countedForm((draft, slots, { product, who }) => {
  if ('list' in who && who.list === 'users') return limitUser(draft, slots, product, who);
  const group = draft.groupOf(who);
  draft.product(product).limit.push({ slots, for: group });
  return taken(`limit ${slots} for ${group}, together.`);
});

/** A user holds at most one slot of a license. */
function limitUser(draft: Draft, slots: number, product: string, who: Listed): Result {
  if (slots > 0) return differs('Not needed: a user holds at most one slot of a license.');
  if (who.entry.toUpperCase() === 'ALL_USERS') return dropped('To keep everybody out, write "allow: []".');
  draft.deny(product, who);
  return taken(`deny by user: ${who.entry}.`);
}

const includeTarget = targetForm((draft, { product, who }) => {
  const group = draft.groupOf(who);
  draft.allow(product, group);
  return taken(`allow ${group}.`);
});

/** A line that cannot be taken must not let everybody in. */
export const include: Form = (draft, line) => {
  const result = includeTarget(draft, line);
  if (result.verdict !== 'dropped') return result;
  return withProduct(line.words[1] ?? '', [], (product) => {
    draft.restrict(product);
    return dropped(`${result.message} Add a group to "allow" of ${product}.`);
  });
};

export const exclude = targetForm((draft, { product, who }) => {
  draft.deny(product, who);
  return taken(`deny ${nameOf(who)}.`);
});

export const excludeAll = everywhereForm((draft, who) => {
  draft.deny(null, who);
  return taken(`deny ${nameOf(who)}, for every product.`);
});

/** There is no `allow` for every product: it is repeated for those that the file names. */
export const includeAll = everywhereForm((draft, who) => {
  const group = draft.groupOf(who);
  const { products } = draft;
  for (const product of products) draft.allow(product, group);
  return products.length === 0
    ? dropped(`Everybody may use everything. Write "allow: [${group}]" for each product.`)
    : differs(`allow ${group}, for ${products.join(', ')}. Write the same for other products.`);
});

function nameOf(who: Target['who']): string {
  return 'group' in who ? who.group : who.entry;
}

/** Keywords without an equivalent. */
export function withoutEquivalent(
  keywords: readonly string[],
  message: string,
): Readonly<Record<string, Form>> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, () => dropped(message)]));
}
