import { MAX_RESERVATIONS } from '../../../core/rules/rule-set.ts';
import { loadYaml } from '../../../parse-yaml.ts';
import { MAX_GROUPS } from '../read-groups.ts';
import { MAX_LINES, MAX_SECTIONS } from '../read-products.ts';
import { type Known, type Listed, listSome, type NameKind } from './who.ts';

type Lists = Readonly<Record<NameKind | 'groups', Set<string>>>;

const noLists = (): Lists => ({
  users: new Set(),
  hosts: new Set(),
  addresses: new Set(),
  groups: new Set(),
});

interface DraftProduct {
  /** `null`: everybody may. */
  allow: Set<string> | null;
  readonly deny: Lists;
  readonly reserve: { slots: number; readonly for: string }[];
  readonly limit: ({ slots: number; for: string } | { slots: number; each: 'host' | 'address' })[];
  /** With 0 hours, nobody may borrow. */
  readonly borrow: { allow: Set<string> | null; hours?: Numbered; keep?: Numbered };
  /** `level` is still the number in the file, of which the lowest is first. */
  readonly priority: { readonly for: string; readonly level: number }[];
}

/** A number, and the line that set it last. */
interface Numbered {
  readonly value: number;
  readonly line: number;
}

/** Kinds of groups in an options file: two of different kinds may have the same name. */
export type GroupKind = 'GROUP' | 'HOST_GROUP' | 'INTERNET_GROUP';

/** Rules that are being collected from an options file. */
export class Draft {
  /** The line of the file that is being read. */
  line = 0;
  readonly #groups = new Map<string, Lists>();
  /** Names of groups and products here, by kind and name in the file. */
  readonly #names = new Map<string, string>();
  readonly #deny = noLists();
  readonly #products = new Map<string, DraftProduct>();
  /** The lines that a list or a rule comes from. */
  readonly #lines = new Map<object, Set<number>>();
  readonly #foldsCase: boolean;

  /** `foldsCase`: case does not matter in the names of groups and products in the file. */
  constructor(foldsCase: boolean) {
    this.#foldsCase = foldsCase;
  }

  get products(): readonly string[] {
    return [...this.#products.keys()];
  }

  /** More groups or products would not be valid. */
  get isFull(): boolean {
    return this.#groups.size >= MAX_GROUPS || this.#products.size >= MAX_SECTIONS;
  }

  get hasHosts(): boolean {
    return [
      this.#deny,
      ...this.#groups.values(),
      ...[...this.#products.values()].map(({ deny }) => deny),
    ].some(({ hosts }) => hosts.size > 0);
  }

  linesOf(listOrRule: object): readonly number[] {
    return [...(this.#lines.get(listOrRule) ?? [])];
  }

  /** Adds to a group and returns its name, which may have had to be changed. */
  addGroup(kind: GroupKind, name: string, members: readonly Listed[]): string {
    const isTaken = this.#groups.has(toName(name));
    const wanted = isTaken ? `${name}-${MEMBERS[kind]}` : name;
    const own = this.findGroup(kind, name) ?? this.#takeName(`${kind} ${this.#fold(name)}`, wanted);
    for (const { list, entry } of members) this.#addTo(this.#groups.get(own) as Lists, list, entry);
    return own;
  }

  findGroup(kind: GroupKind, name: string): string | null {
    return this.#names.get(`${kind} ${this.#fold(name)}`) ?? null;
  }

  /** Names of ours. */
  listGroups(kind: GroupKind): readonly string[] {
    return [...this.#names].filter(([key]) => key.startsWith(`${kind} `)).map(([, name]) => name);
  }

  /** The group itself, or one with this single member. */
  groupOf(who: Known): string {
    if ('group' in who) return who.group;
    const { list, entry } = who;
    const key = `${list} ${entry}`;
    const wanted = EVERY[key] ?? `${SINGULAR[list]}-${entry.replaceAll('*', '')}`;
    const name = this.#names.get(key) ?? this.#takeName(key, wanted);
    this.#addTo(this.#groups.get(name) as Lists, list, entry);
    return name;
  }

  isEverybody(who: Known): boolean {
    if ('list' in who) return who.entry === '*';
    return this.#groups.get(who.group)?.users.has('*') === true;
  }

  /** Adds the product and returns its name, as it is first written in the file. */
  addProduct(name: string): string {
    const key = `product ${this.#fold(name)}`;
    const known = this.#names.get(key) ?? name;
    this.#names.set(key, known);
    this.product(known);
    return known;
  }

  deny(product: string | null, who: Known): void {
    const lists = product === null ? this.#deny : this.product(product).deny;
    if ('group' in who) this.#addTo(lists, 'groups', who.group);
    else this.#addTo(lists, who.list, who.entry);
  }

  /** From now on, only those who are named may have slots of the product. */
  restrict(product: string): Set<string> {
    const own = this.product(product);
    own.allow ??= new Set();
    this.#note(own.allow);
    return own.allow;
  }

  allow(product: string, group: string): void {
    this.restrict(product).add(group);
  }

  /** From now on, only those who are named may borrow. */
  restrictBorrow(product: string): Set<string> {
    const { borrow } = this.product(product);
    borrow.allow ??= new Set();
    this.#note(borrow.allow);
    return borrow.allow;
  }

  allowBorrow(product: string, group: string): void {
    this.restrictBorrow(product).add(group);
  }

  setBorrow(product: string, field: 'hours' | 'keep', value: number): void {
    this.product(product).borrow[field] = { value, line: this.line };
  }

  /** Returns the reservation, to which others for the same group are added; `null` if there is no room. */
  reserve(product: string, slots: number, group: string): { readonly slots: number } | null {
    const lines = this.product(product).reserve;
    const same = lines.find((line) => line.for === group);
    if (same === undefined) return this.#push(lines, { slots, for: group }, MAX_RESERVATIONS);
    same.slots += slots;
    this.#note(same);
    return same;
  }

  /** Returns whether there was room for it. */
  limit(product: string, limit: DraftProduct['limit'][number]): boolean {
    return this.#push(this.product(product).limit, limit, MAX_LINES) !== null;
  }

  /** Returns whether there was room for it. */
  prioritize(product: string, group: string, number: number): boolean {
    const { priority } = this.product(product);
    return this.#push(priority, { for: group, level: number }, MAX_LINES) !== null;
  }

  product(name: string): DraftProduct {
    const known = this.#products.get(name) ?? noRules();
    this.#products.set(name, known);
    return known;
  }

  /** Lists and rules have the lines they come from as comments. */
  toYaml(): { readonly yaml: string; readonly isEmpty: boolean } {
    const { Document } = loadYaml();
    const document = new Document();
    const leaf = (value: unknown, lines: readonly number[]) => {
      const node = document.createNode(value);
      if (lines.length > 0) node.comment = ` ${sayLines(lines)}`;
      return node;
    };
    const list = (value: object) => leaf(value instanceof Set ? [...value] : value, this.linesOf(value));
    const lists = (all: Lists) => mapEntries(withoutEmpty(all), list);
    const whole = withoutEmpty({
      groups: mapEntries(Object.fromEntries(this.#groups), lists),
      deny: lists(this.#deny),
      products: withoutEmpty(
        mapEntries(Object.fromEntries(this.#products), ({ allow, borrow, ...own }) => ({
          ...(allow === null ? {} : { allow: list(allow) }),
          ...withoutEmpty({
            deny: lists(own.deny),
            reserve: own.reserve.map(list),
            limit: own.limit.map(list),
            borrow: mapEntries(toBorrow(borrow), (value) =>
              'line' in value ? leaf(value.value, [value.line]) : list(value),
            ),
            priority: own.priority.map((one) => leaf(turnRound(one, own.priority), this.linesOf(one))),
          }),
        })),
      ),
    });
    document.contents = document.createNode(
      isEmpty(whole) ? { deny: {} } : whole,
    ) as typeof document.contents;
    putShortOnOneLine(document);
    const yaml = document.toString({ lineWidth: 0, flowCollectionPadding: true });
    return { yaml, isEmpty: isEmpty(whole) };
  }

  #fold(name: string): string {
    return this.#foldsCase ? name.toLowerCase() : name;
  }

  #addTo(lists: Lists, list: keyof Lists, entry: string): void {
    lists[list].add(entry);
    this.#note(lists[list]);
  }

  #push<Rule extends object>(rules: Rule[], rule: Rule, most: number): Rule | null {
    if (rules.length === most) return null;
    rules.push(rule);
    this.#note(rule);
    return rule;
  }

  #note(listOrRule: object): void {
    const lines = this.#lines.get(listOrRule) ?? new Set();
    this.#lines.set(listOrRule, lines.add(this.line));
  }

  /** Letters that names of groups cannot have become dashes. */
  #takeName(key: string, wanted: string): string {
    const plain = toName(wanted);
    let name = plain;
    for (let count = 2; this.#groups.has(name); count++) name = `${plain}-${count}`;
    this.#names.set(key, name);
    this.#groups.set(name, noLists());
    return name;
  }
}

/** "line 3", "lines 3, 5" */
export function sayLines(lines: readonly number[]): string {
  return `${lines.length === 1 ? 'line' : 'lines'} ${listSome(lines.toSorted((a, b) => a - b))}`;
}

function toName(wanted: string): string {
  return wanted.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, MAX_NAME);
}

/** Leaves room for a number. */
const MAX_NAME = 58;

const MEMBERS: Readonly<Record<GroupKind, NameKind>> = {
  GROUP: 'users',
  HOST_GROUP: 'hosts',
  INTERNET_GROUP: 'addresses',
};

const SINGULAR: Readonly<Record<NameKind, string>> = { users: 'user', hosts: 'host', addresses: 'net' };

/** Names of groups with one entry that has no name of its own. */
const EVERY: Readonly<Record<string, string>> = {
  'users *': 'everybody',
  'hosts *': 'every-host',
  'addresses 0.0.0.0/0': 'every-ipv4',
};

const noRules = (): DraftProduct => ({
  allow: null,
  deny: noLists(),
  reserve: [],
  limit: [],
  borrow: { allow: null },
  priority: [],
});

function toBorrow({ allow, hours, keep }: DraftProduct['borrow']) {
  const given: Record<string, Set<string> | { value: unknown; line: number } | undefined> =
    hours?.value === 0
      ? { allow: { value: [], line: hours.line }, keep }
      : { allow: allow ?? undefined, hours, keep };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Here the highest level is first, and 0 has whoever has no priority. */
function turnRound({ for: group, level }: DraftProduct['priority'][number], all: DraftProduct['priority']) {
  return { for: group, level: new Set(all.map((one) => one.level).filter((one) => one >= level)).size };
}

function mapEntries<From, To>(values: Readonly<Record<string, From>>, map: (value: From) => To) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]));
}

function withoutEmpty<Value extends object>(
  sections: Readonly<Record<string, Value>>,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(sections).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: object): boolean {
  return (value instanceof Set ? value.size : Object.keys(value).length) === 0;
}

/** Lines of rules, and lists of a few names. */
const SHORT = 70;

function putShortOnOneLine(document: object): void {
  const { visit, isScalar } = loadYaml();
  const lengthOf = (items: readonly unknown[]) =>
    items.every((item) => isScalar(item))
      ? items.reduce<number>((sum, item) => sum + String((item as { value: unknown }).value).length + 2, 0)
      : Infinity;
  visit(document as Parameters<typeof visit>[0], {
    Seq: (_, node) => {
      node.flow = lengthOf(node.items) < SHORT;
    },
    Map: (_, node) => {
      node.flow = node.items.every(({ value }) => isScalar(value) && !value.comment);
    },
  });
}
