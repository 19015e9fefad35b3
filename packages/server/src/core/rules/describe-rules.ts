import type { RULE_KINDS } from '@berth/protocol/admin/rules';
import type { Instant } from '../nouns/instant.ts';
import { countGroup, nameLimit, nameReservation } from './judge-slot.ts';
import { countStillToCome, type HeldByGroups } from './reservations.ts';
import type { ProductRules, Reservation, RuleSet, SlotRules } from './rule-set.ts';
import { isDuring } from './times.ts';

/** A rule of a product or a feature, and what it does now. */
export interface RuleInForce {
  readonly product: string;
  readonly feature: string | null;
  readonly kind: (typeof RULE_KINDS)[number];
  readonly line: number;
  /** In a few words, as refusals name it. */
  readonly text: string;
  readonly during: string | null;
  readonly isActive: boolean;
  readonly groups: readonly string[];
  readonly slots: number | null;
  /** Slots that its group holds; `null` where nothing is counted. */
  readonly inUse: number | null;
  /** Of a reservation: reserved slots that are kept free now. */
  readonly stillToCome: number | null;
}

/** Slots of a product or a feature on one license. */
interface Lent {
  readonly slots: number;
  readonly held: HeldByGroups;
}

/** On each license that can be used now. */
type ReadLent = (product: string, feature: string | null) => readonly Lent[];

/** All rules of products, in the order of the text. */
export function describeRules(rules: RuleSet, readLent: ReadLent, now: Instant): readonly RuleInForce[] {
  const described = Object.entries(rules.products).flatMap(([product, own]) => [
    ...describeSlots(rules, product, null, own, readLent, now),
    ...describeOthers(rules, product, own, now),
    ...Object.entries(own.features).flatMap(([feature, part]) =>
      describeSlots(rules, product, feature, part, readLent, now),
    ),
  ]);
  return described.sort((a, b) => a.line - b.line);
}

function describeSlots(
  rules: RuleSet,
  product: string,
  feature: string | null,
  own: SlotRules,
  readLent: ReadLent,
  now: Instant,
): readonly RuleInForce[] {
  const lent = readLent(product, feature);
  const pool = addUp(lent);
  const inPool = pool.held;
  // A feature is reserved on each license by itself.
  const parts = feature === null ? [pool] : lent.map((one) => ({ ...one, free: freeOf(one) }));
  const about = { product, feature };
  const active = own.reserve.filter(({ during }) => isDuring(rules, during, now));
  return [
    ...describeAccess(about, own),
    ...own.reserve.map((rule): RuleInForce => {
      const { line, during, slots, for: group } = rule;
      const isActive = active.includes(rule);
      const stillToCome = isActive ? sum(parts.map((part) => countShare(active, rule, part))) : 0;
      const inUse = countGroup(inPool, group);
      const text = nameReservation(rule);
      return {
        ...about,
        kind: 'reserve',
        line,
        text,
        during,
        isActive,
        groups: [group],
        slots,
        inUse,
        stillToCome,
      };
    }),
    ...own.limit.map((rule): RuleInForce => {
      const { line, during, slots, of } = rule;
      const isActive = isDuring(rules, during, now);
      const groups = 'group' in of ? [of.group] : [];
      const inUse = 'group' in of ? countGroup(inPool, of.group) : null;
      const text = nameLimit(rule);
      return {
        ...about,
        kind: 'limit',
        line,
        text,
        during,
        isActive,
        groups,
        slots,
        inUse,
        stillToCome: null,
      };
    }),
  ];
}

const UNCOUNTED = { during: null, isActive: true, slots: null, inUse: null, stillToCome: null };

function describeAccess(
  about: Pick<RuleInForce, 'product' | 'feature'>,
  { allow, deny, lines }: SlotRules,
): readonly RuleInForce[] {
  const denied = [...deny.groups, ...deny.users, ...deny.hosts, ...deny.addresses];
  return [
    ...(allow === null
      ? []
      : [
          {
            ...about,
            ...UNCOUNTED,
            kind: 'allow' as const,
            line: lines?.allow ?? 0,
            ...nameAll('allow', allow),
          },
        ]),
    ...(denied.length === 0
      ? []
      : [
          {
            ...about,
            ...UNCOUNTED,
            kind: 'deny' as const,
            line: lines?.deny ?? 0,
            ...nameAll('deny', denied),
          },
        ]),
  ];
}

/** A rule may list thousands of names. */
const MAX_NAMED = 8;

function nameAll(verb: string, names: readonly string[]): Pick<RuleInForce, 'text' | 'groups'> {
  const rest = names.length - MAX_NAMED;
  const named = names.slice(0, MAX_NAMED).join(', ');
  return {
    text: `${verb} ${named}${rest > 0 ? ` and ${rest} more` : ''}`,
    groups: names.slice(0, MAX_NAMED),
  };
}

function describeOthers(
  rules: RuleSet,
  product: string,
  { borrow, priority }: ProductRules,
  now: Instant,
): readonly RuleInForce[] {
  const about = { product, feature: null, inUse: null, stillToCome: null };
  const borrowing = borrow === null ? [] : [borrow];
  return [
    ...borrowing.map(({ line, during, allow, hours, keep, perAddress }): RuleInForce => {
      const parts = [
        ...(allow === null ? [] : [`allow ${allow.join(', ')}`]),
        ...(hours === null ? [] : [`at most ${hours} hours`]),
        ...(keep === 0 ? [] : [`keep ${keep}`]),
        ...(perAddress === null ? [] : [`${perAddress} per address`]),
      ];
      const isActive = isDuring(rules, during, now);
      const text = `borrow: ${parts.join(', ')}`;
      return { ...about, kind: 'borrow', line, text, during, isActive, groups: allow ?? [], slots: keep };
    }),
    ...priority.map(({ line, during, for: group, level }): RuleInForce => {
      const isActive = isDuring(rules, during, now);
      const text = `priority ${level} for ${group}`;
      return { ...about, kind: 'priority', line, text, during, isActive, groups: [group], slots: null };
    }),
  ];
}

/** What is kept free for this reservation alone. */
function countShare(all: readonly Reservation[], one: Reservation, { held, free }: Lent & Free): number {
  const others = all.filter((other) => other !== one);
  return Math.min(free, countStillToCome(all, held) - countStillToCome(others, held));
}

interface Free {
  readonly free: number;
}

function freeOf({ slots, held }: Lent): number {
  return Math.max(0, slots - sum([...held.values()]));
}

function addUp(parts: readonly Lent[]): Lent & Free {
  const held = new Map<string, number>();
  for (const [groups, slots] of parts.flatMap((part) => [...part.held])) {
    held.set(groups, (held.get(groups) ?? 0) + slots);
  }
  return { held, slots: sum(parts.map(({ slots }) => slots)), free: sum(parts.map(freeOf)) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
