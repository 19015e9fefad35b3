import { MAX_RESERVATIONS } from '../../../core/rules/rule-set.ts';
import { loadYaml } from '../../../parse-yaml.ts';
import type { Listed, NameKind, Who } from './who.ts';

type Lists = Record<NameKind | 'groups', string[]>;

const noLists = (): Lists => ({ users: [], hosts: [], addresses: [], groups: [] });

interface DraftProduct {
  /** `null`: everybody may. */
  allow: string[] | null;
  readonly deny: Lists;
  readonly reserve: { slots: number; for: string }[];
  readonly limit: ({ slots: number; for: string } | { slots: number; each: 'host' | 'address' })[];
  readonly borrow: { readonly allow: string[]; hours?: number; keep?: number };
  readonly priority: { for: string; level: number }[];
}

/** Kinds of groups in an options file: two of different kinds may have the same name. */
export type GroupKind = 'GROUP' | 'HOST_GROUP' | 'INTERNET_GROUP';

/** Rules that are being collected from an options file. */
export class Draft {
  readonly #groups = new Map<string, Lists>();
  /** Names of ours, by kind and name in the file. */
  readonly #names = new Map<string, string>();
  readonly #deny = noLists();
  readonly #products = new Map<string, DraftProduct>();

  get products(): readonly string[] {
    return [...this.#products.keys()];
  }

  /** Adds to a group and returns its name, which may have had to be changed. */
  addGroup(kind: GroupKind, name: string, members: readonly Listed[]): string {
    const isTaken = this.#groups.has(toName(name));
    const wanted = isTaken ? `${name}-${MEMBERS[kind]}` : name;
    const own = this.findGroup(kind, name) ?? this.#takeName(`${kind} ${name}`, wanted);
    for (const { list, entry } of members) addTo(this.#groups.get(own) as Lists, list, entry);
    return own;
  }

  findGroup(kind: GroupKind, name: string): string | null {
    return this.#names.get(`${kind} ${name}`) ?? null;
  }

  /** The group itself, or one with this single member. */
  groupOf(who: Exclude<Who, { readonly problem: string }>): string {
    if ('group' in who) return who.group;
    const { list, entry } = who;
    const key = `${list} ${entry}`;
    const name = this.#names.get(key) ?? this.#takeName(key, `${SINGULAR[list]}-${entry}`);
    addTo(this.#groups.get(name) as Lists, list, entry);
    return name;
  }

  deny(product: string | null, who: Exclude<Who, { readonly problem: string }>): void {
    const lists = product === null ? this.#deny : this.product(product).deny;
    if ('group' in who) addTo(lists, 'groups', who.group);
    else addTo(lists, who.list, who.entry);
  }

  /** From now on, only those who are named may have slots of the product. */
  restrict(product: string): string[] {
    const own = this.product(product);
    own.allow ??= [];
    return own.allow;
  }

  allow(product: string, group: string): void {
    addOnce(this.restrict(product), group);
  }

  allowBorrow(product: string, group: string): void {
    addOnce(this.product(product).borrow.allow, group);
  }

  /** Returns whether there was room for another reservation. */
  reserve(product: string, slots: number, group: string): boolean {
    const lines = this.product(product).reserve;
    const same = lines.find((line) => line.for === group);
    if (same !== undefined) same.slots += slots;
    else if (lines.length === MAX_RESERVATIONS) return false;
    else lines.push({ slots, for: group });
    return true;
  }

  product(name: string): DraftProduct {
    const known = this.#products.get(name) ?? noRules();
    this.#products.set(name, known);
    return known;
  }

  toYaml(comment: string): string {
    const { Document } = loadYaml();
    const whole = withoutEmpty({
      groups: Object.fromEntries([...this.#groups].map(([name, lists]) => [name, withoutEmpty(lists)])),
      deny: withoutEmpty(this.#deny),
      products: Object.fromEntries(
        [...this.#products].map(([name, rules]) => [name, withoutEmptyRules(rules)]),
      ),
    });
    const document = new Document(Object.keys(whole).length === 0 ? { deny: {} } : whole);
    document.commentBefore = comment;
    putShortOnOneLine(document);
    return document.toString({ lineWidth: 0, flowCollectionPadding: true });
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

const noRules = (): DraftProduct => ({
  allow: null,
  deny: noLists(),
  reserve: [],
  limit: [],
  borrow: { allow: [] },
  priority: [],
});

function withoutEmptyRules({ allow, deny, borrow, ...others }: DraftProduct): object {
  const rest = withoutEmpty({ deny: withoutEmpty(deny), ...others, borrow: withoutEmpty(borrow) });
  return allow === null ? rest : { allow, ...rest };
}

function withoutEmpty(sections: object): object {
  const isFilled = (value: unknown) => typeof value !== 'object' || Object.keys(value as object).length > 0;
  return Object.fromEntries(Object.entries(sections).filter(([, value]) => isFilled(value)));
}

function addTo(lists: Lists, list: keyof Lists, entry: string): void {
  addOnce(lists[list], entry);
}

function addOnce(list: string[], entry: string): void {
  if (!list.includes(entry)) list.push(entry);
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
      node.flow = node.items.every(({ value }) => isScalar(value));
    },
  });
}
