import { MAX_RESERVATIONS } from '../../../core/rules/rule-set.ts';
import { loadYaml } from '../../../parse-yaml.ts';
import type { Listed, NameKind, Who } from './who.ts';

type Lists = Partial<Record<NameKind | 'groups', string[]>>;

interface DraftProduct {
  allow?: string[];
  deny?: Lists;
  reserve?: { slots: number; for: string }[];
  limit?: ({ slots: number; for: string } | { slots: number; each: 'host' | 'address' })[];
  borrow?: { allow?: string[]; hours?: number; keep?: number };
  priority?: { for: string; level: number }[];
}

/** Kinds of groups in an options file: two of different kinds may have the same name. */
export type GroupKind = 'GROUP' | 'HOST_GROUP' | 'INTERNET_GROUP';

/** Rules that are being collected from an options file. */
export class Draft {
  readonly #groups = new Map<string, Lists>();
  /** Names of ours, by kind and name in the file. */
  readonly #names = new Map<string, string>();
  readonly #deny: Lists = {};
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
    const lists = product === null ? this.#deny : (this.product(product).deny ??= {});
    if ('group' in who) addTo(lists, 'groups', who.group);
    else addTo(lists, who.list, who.entry);
  }

  allow(product: string, group: string): void {
    addOnce((this.product(product).allow ??= []), group);
  }

  allowBorrow(product: string, group: string): void {
    const borrow = (this.product(product).borrow ??= {});
    addOnce((borrow.allow ??= []), group);
  }

  /** Returns whether there was room for another reservation. */
  reserve(product: string, slots: number, group: string): boolean {
    const lines = (this.product(product).reserve ??= []);
    const same = lines.find((line) => line.for === group);
    if (same !== undefined) same.slots += slots;
    else if (lines.length === MAX_RESERVATIONS) return false;
    else lines.push({ slots, for: group });
    return true;
  }

  product(name: string): DraftProduct {
    const known = this.#products.get(name) ?? {};
    this.#products.set(name, known);
    return known;
  }

  toYaml(comment: string): string {
    const { Document } = loadYaml();
    const whole = {
      ...(this.#groups.size === 0 ? {} : { groups: Object.fromEntries(this.#groups) }),
      ...(Object.keys(this.#deny).length === 0 ? {} : { deny: this.#deny }),
      ...(this.#products.size === 0
        ? {}
        : { products: Object.fromEntries([...this.#products].map(inOrder)) }),
    };
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
    this.#groups.set(name, {});
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

const ORDER = ['allow', 'deny', 'reserve', 'limit', 'borrow', 'priority'] as const;

function inOrder([name, product]: readonly [string, DraftProduct]): readonly [string, DraftProduct] {
  const fields = ORDER.filter((field) => product[field] !== undefined);
  return [name, Object.fromEntries(fields.map((field) => [field, product[field]]))];
}

function addTo(lists: Lists, list: keyof Lists, entry: string): void {
  addOnce((lists[list] ??= []), entry);
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
