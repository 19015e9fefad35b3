import type { GetAnswer } from '@berth/protocol/admin/admin-api';
import type { License } from '@berth/protocol/admin/licenses';
import { countWord, formatNumber } from './numbers.ts';
import { plural } from './time.ts';

export type RulesInForce = GetAnswer<'/api/admin/rules'>;

export type Rule = RulesInForce['rules'][number];

/** Slots that are reserved now. */
export interface Reserved {
  readonly group: string;
  readonly slots: number;
  readonly stillToCome: number;
}

/** A product with its rules, and the slots of all its licenses that can be used. */
export interface RuledProduct {
  readonly product: string;
  readonly slots: number;
  readonly inUse: number;
  readonly borrowed: number;
  readonly rules: readonly Rule[];
}

const USABLE = new Set(['active', 'in_grace']);

/** Those that need attention first, then in the order of the text. */
export function listRuled(rules: readonly Rule[], licenses: readonly License[]): readonly RuledProduct[] {
  const byProduct = Map.groupBy(rules, ({ product }) => product);
  return [...byProduct]
    .map(([product, own]) => ({ ...countSlots(product, licenses), rules: own }))
    .toSorted((one, other) => needOf(other) - needOf(one));
}

function countSlots(product: string, licenses: readonly License[]) {
  const own = licenses.filter((one) => one.product === product && USABLE.has(one.state));
  const sum = (read: (license: License) => number) => own.reduce((total, one) => total + read(one), 0);
  return {
    product,
    slots: sum(({ floating_users }) => floating_users),
    inUse: sum(({ floating_in_use }) => floating_in_use),
    borrowed: sum(({ borrowed }) => borrowed),
  };
}

/** 2: a rule refuses people now. 1: one did in the last 30 days. */
function needOf(one: RuledProduct): number {
  if (one.rules.some((rule) => isRefusing(rule, one))) return 2;
  return one.rules.some(({ refused }) => refused > 0) ? 1 : 0;
}

/** A limit is reached, or only reserved slots are free. */
export function isRefusing(rule: Rule, { slots, inUse }: RuledProduct): boolean {
  if (!rule.is_active) return false;
  if (rule.kind === 'limit') return isReached(rule);
  const free = slots - inUse;
  return rule.kind === 'reserve' && rule.feature === null && free > 0 && (rule.still_to_come ?? 0) >= free;
}

function isReached({ slots, in_use }: Rule): boolean {
  return slots !== null && in_use !== null && in_use >= slots;
}

/** Products that have licenses and no rules. */
export function countUnruled(rules: readonly Rule[], licenses: readonly License[]): number {
  const ruled = new Set(rules.map(({ product }) => product));
  return new Set(licenses.map(({ product }) => product).filter((product) => !ruled.has(product))).size;
}

/** What is reserved now, of the product or of one of its features. */
export function listReserved(
  rules: readonly Rule[],
  product: string,
  feature: string | null = null,
): readonly Reserved[] {
  return rules
    .filter((rule) => rule.kind === 'reserve' && rule.product === product && rule.feature === feature)
    .filter(({ is_active, slots }) => is_active && (slots ?? 0) > 0)
    .map(({ groups, slots, still_to_come }) => ({
      group: groups.join(', '),
      slots: slots ?? 0,
      stillToCome: Math.min(slots ?? 0, still_to_come ?? 0),
    }));
}

export type ReservedByLicense = ReadonlyMap<number, readonly Reserved[]>;

/** What is reserved of each license. Several licenses of a product share it, so that none has its own. */
export function mapReserved(rules: readonly Rule[], licenses: readonly License[]): ReservedByLicense {
  const byProduct = Map.groupBy(licenses, ({ product }) => product);
  return new Map(
    licenses
      .filter(({ product, state }) => byProduct.get(product)?.length === 1 && USABLE.has(state))
      .map(({ id, product }) => [id, listReserved(rules, product)]),
  );
}

export function hasReserved(reserved: ReservedByLicense): boolean {
  return [...reserved.values()].some(({ length }) => length > 0);
}

/** Such as: 4 reserved for cad-team, 3 in use. */
export function sayReserved({ group, slots, stillToCome }: Reserved): string {
  return `${formatNumber(slots)} reserved for ${group}, ${sayFilled({ slots, stillToCome })}`;
}

/** How much of a reservation is in use. */
export function sayFilled({ slots, stillToCome }: Pick<Reserved, 'slots' | 'stillToCome'>): string {
  return stillToCome === 0 ? 'all in use' : `${formatNumber(slots - stillToCome)} in use`;
}

/** Part of a sentence; names of groups stand out. */
interface Phrase {
  readonly text: string;
  readonly isName: boolean;
}

class Names {
  readonly list: readonly string[];

  constructor(list: readonly string[]) {
    this.list = list;
  }
}

function say(texts: TemplateStringsArray, ...values: readonly (string | Names)[]): readonly Phrase[] {
  const phrases = texts.flatMap((text, index) => [plain(text), ...phrasesOf(values[index] ?? '')]);
  return phrases.filter(({ text }) => text !== '');
}

function plain(text: string): Phrase {
  return { text, isName: false };
}

function phrasesOf(value: string | Names): readonly Phrase[] {
  if (typeof value === 'string') return [plain(value)];
  return value.list.flatMap((name, index) => {
    const isLast = index === value.list.length - 1;
    return [plain(index === 0 ? '' : isLast ? ' and ' : ', '), { text: name, isName: true }];
  });
}

/** A rule and what it does now, as a sentence. `slots`: of the product. */
export function sayRule(rule: Rule, slots: number): readonly Phrase[] {
  const words = SENTENCES[rule.kind](rule, slots);
  const when = rule.is_active ? '.' : '. It does not apply now.';
  return [...(rule.feature === null ? [] : say`${rule.feature}: `), ...words, plain(when)];
}

type Sentence = (rule: Rule, slots: number) => readonly Phrase[];

const during = ({ during: name }: Rule) => (name === null ? '' : ` during ${name}`);

const groupsOf = ({ groups }: Rule) => new Names(groups);

/** The server lists only the first of many names. */
const isCut = ({ groups, text }: Rule) => groups.length === 0 || / and \d+ more$/.test(text);

/** The rule in the words of the server, for what has no sentence. */
const asNamed: Sentence = ({ text }) => say`${text.charAt(0).toUpperCase()}${text.slice(1)}`;

const SENTENCES: Readonly<Record<Rule['kind'], Sentence>> = {
  reserve: (rule, all) => {
    const { slots, still_to_come: toCome, is_active: isActive, feature } = rule;
    const of = feature === null && all > 0 ? ` of ${formatNumber(all)}` : '';
    const are = slots === 1 && of === '' ? 'slot is' : 'slots are';
    const head = `${formatNumber(slots ?? 0)}${of} ${are} reserved for `;
    const now = isActive && toCome !== null ? `; ${sayNow(slots ?? 0, toCome)}` : '';
    return say`${head}${groupsOf(rule)}${during(rule)}${now}`;
  },
  limit: (rule) => {
    const { slots, in_use: inUse, groups, text } = rule;
    if (slots === null) return asNamed(rule, 0);
    if (groups.length === 0) return sayEach(text, slots, during(rule));
    if (isReached(rule) && rule.is_active) {
      return say`${groupsOf(rule)}${during(rule)} hold ${formatNumber(inUse ?? 0)}, as many as they may`;
    }
    const now = inUse === null ? '' : `; ${formatNumber(inUse)} in use`;
    return say`${groupsOf(rule)} may hold ${plural(slots, 'slot')} together${during(rule)}${now}`;
  },
  allow: (rule, all) =>
    isCut(rule) ? asNamed(rule, all) : say`Only ${groupsOf(rule)} get a slot${during(rule)}`,
  deny: (rule, all) => (isCut(rule) ? asNamed(rule, all) : say`${groupsOf(rule)} are refused${during(rule)}`),
  borrow: asNamed,
  priority: asNamed,
};

function sayNow(slots: number, toCome: number): string {
  if (toCome === 0) return 'all in use';
  return `${formatNumber(slots - toCome)} in use, ${formatNumber(toCome)} still to come`;
}

function sayEach(text: string, slots: number, when: string): readonly Phrase[] {
  const place = text.includes('each address') ? 'address' : 'host';
  return say`${countWord(slots)} ${slots === 1 ? 'slot' : 'slots'} for each ${place}${when}`;
}

/** What a rule did in the last 30 days; empty: nothing worth a word. */
export function sayRecord({ refused, unused_share: unused }: Rule): string {
  const parts = [
    refused > 0 ? `refused ${plural(refused, 'request')} in 30 days` : '',
    unused !== null && unused >= 0.005 ? `kept free ${Math.round(unused * 100)} % of 30 days` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** From here on an unused reservation is worth a word, as a share of the time. */
export const MUCH_UNUSED = 0.2;

/** The reservation of a product that was kept free the most; `null`: none was for long. */
export function findUnused(rules: readonly Rule[], product: string): Rule | null {
  const [most = null] = rules
    .filter((rule) => rule.kind === 'reserve' && rule.product === product && rule.feature === null)
    .filter(({ slots, unused_share: unused }) => (slots ?? 0) > 1 && (unused ?? 0) >= MUCH_UNUSED)
    .toSorted((one, other) => (other.unused_share ?? 0) - (one.unused_share ?? 0));
  return most;
}

const SLOTS = /\bslots: *(\d+)/;

/** The text with one slot fewer in a line; `null`: the line has no slots to give up. */
export function giveUpSlot(
  text: string,
  line: number,
): { readonly text: string; readonly slots: number } | null {
  const lines = text.split('\n');
  const found = lines[line - 1] ?? '';
  const slots = Number(SLOTS.exec(found)?.[1] ?? 0) - 1;
  if (slots < 1) return null;
  return { text: lines.with(line - 1, found.replace(SLOTS, `slots: ${slots}`)).join('\n'), slots };
}

/** How many products are shown before the rest is asked for. */
export const SHOWN_PRODUCTS = 6;

/** A beginning, for servers that have no rules. `product`: one that it has. */
export function exampleRules(product: string): string {
  const name = /^[\w.-]+$/.test(product) ? product : JSON.stringify(product);
  return `groups:
  team:        { users: [ada, "cad-*"] }   # names, or patterns with an asterisk
  contractors: { users: ["ext-*"] }

products:
  ${name}:
    reserve:
      - { slots: 1, for: team }
    limit:
      - { slots: 2, for: contractors }     # together
`;
}
