import { instant } from '../nouns/instant.ts';
import { containersOf, listGroups, type Person } from './groups.ts';
import { nameLimit, nameReservation } from './judge-slot.ts';
import type { Reservation, RuleSet, SlotRules } from './rule-set.ts';
import { isDuring, listStarts } from './times.ts';

/** Something in the rules that may not be meant. */
interface Warning {
  /** Names and indexes that lead to it in the text. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A product that the server has. */
export interface ProductFacts {
  readonly product: string;
  /** Of all its licenses. */
  readonly slots: number;
  /** Each with the slots that one license has of it at most. */
  readonly features: readonly { readonly feature: string; readonly slots: number }[];
  /** Reservations that have kept all their slots free for `UNFILLED_DAYS`. */
  readonly unfilled: readonly { readonly feature: string | null; readonly rule: string }[];
}

/** How long a reservation goes unused before a warning says so. */
export const UNFILLED_DAYS = 30;

/** `products`: those of the server; `null`: nothing is known about them. */
export function listWarnings(rules: RuleSet, products: readonly ProductFacts[] | null): readonly Warning[] {
  return Object.entries(rules.products).flatMap(([name, own]) => {
    const facts = products?.find(({ product }) => product === name);
    const isUnknown = products !== null && facts === undefined;
    return [
      ...(isUnknown ? [warnUnknown(['products', name], `The server has no license for "${name}" yet.`)] : []),
      ...warnUnfilled(own, ['products', name], null, facts),
      ...warnSlots(rules, own, ['products', name], facts?.slots ?? null, [own]),
      ...Object.entries(own.features).flatMap(([feature, rulesOfIt]) => {
        const path = ['products', name, 'features', feature];
        const known = facts?.features.find((one) => one.feature === feature);
        const isMissing = facts !== undefined && known === undefined;
        const unknown = `No license for "${name}" has slots of the feature "${feature}".`;
        return [
          ...(isMissing ? [warnUnknown(path, unknown)] : []),
          ...warnUnfilled(rulesOfIt, path, feature, facts),
          ...warnSlots(rules, rulesOfIt, path, known?.slots ?? null, [own, rulesOfIt]),
        ];
      }),
    ];
  });
}

function warnUnknown(path: Warning['path'], message: string): Warning {
  return { path, message: `${message} These rules apply as soon as there is one.` };
}

function warnUnfilled(
  own: SlotRules,
  path: Warning['path'],
  feature: string | null,
  facts: ProductFacts | undefined,
): readonly Warning[] {
  const unfilled = facts?.unfilled.filter((one) => one.feature === feature) ?? [];
  return own.reserve.flatMap((rule, index) => {
    const name = nameReservation(rule);
    if (!unfilled.some((one) => one.rule === name)) return [];
    const unused = `Nobody has used "${name}" for ${UNFILLED_DAYS} days`;
    const message = `${unused}: its slots stayed free all that time.`;
    return [{ path: [...path, 'reserve', index], message }];
  });
}

/** `scopes`: what decides who may have the slots. */
function warnSlots(
  rules: RuleSet,
  own: SlotRules,
  path: Warning['path'],
  slots: number | null,
  scopes: readonly SlotRules[],
): readonly Warning[] {
  const found = listMoments(rules, own).flatMap((isActive) => [
    ...warnTooMany(own, path, slots, isActive),
    ...warnLimited(rules, own, path, isActive),
  ]);
  const kept = own.reserve.flatMap((rule, index) => {
    const reason = findKeptOut(rules, rule.for, scopes) ?? findTooFew(rules, rule);
    if (reason === null) return [];
    const message = `"${nameReservation(rule)}" may keep slots for nobody: ${reason}`;
    return [{ path: [...path, 'reserve', index], message }];
  });
  return [...new Map([...found, ...kept].map((one) => [JSON.stringify(one.path), one])).values()];
}

type IsActive = (rule: { readonly during: string | null }) => boolean;

function warnTooMany(
  own: SlotRules,
  path: Warning['path'],
  slots: number | null,
  isActive: IsActive,
): readonly Warning[] {
  const reserved = sumSlots(own.reserve.filter(isActive));
  if (slots === null || reserved <= slots) return [];
  const message = `${reserved} slots are reserved at the same time, but there are only ${slots}.`;
  return [
    { path: [...path, 'reserve'], message: `${message} They go to members first, whoever comes first.` },
  ];
}

function warnLimited(
  rules: RuleSet,
  own: SlotRules,
  path: Warning['path'],
  isActive: IsActive,
): readonly Warning[] {
  return own.limit.flatMap((limit, index) => {
    const { of } = limit;
    if (!('group' in of) || !isActive(limit)) return [];
    const within = own.reserve.filter(
      (rule) => isActive(rule) && containersOf(rules, rule.for).has(of.group),
    );
    const reserved = sumSlots(within);
    if (reserved <= limit.slots) return [];
    const message =
      `${reserved} slots are reserved for members of ${of.group}, but "${nameLimit(limit)}" allows fewer. ` +
      'The rest stays free.';
    return [{ path: [...path, 'limit', index], message }];
  });
}

function sumSlots(rules: readonly { readonly slots: number }[]): number {
  return rules.reduce((sum, { slots }) => sum + slots, 0);
}

/** How `deny` or `allow` keep the group out; `null`: they do not. */
function findKeptOut(rules: RuleSet, group: string, scopes: readonly SlotRules[]): string | null {
  const around = containersOf(rules, group);
  const denied = [rules, ...scopes].flatMap(({ deny }) => deny.groups).find((one) => around.has(one));
  if (denied !== undefined) return `"deny" refuses ${denied}.`;
  for (const { allow } of scopes) {
    if (allow === null || listTypical(rules, group).some((groups) => allow.some((one) => groups.has(one))))
      continue;
    return `"allow" does not name ${group}. Members need another group that is allowed.`;
  }
  return null;
}

/** Why a group that lists all its users by name has too few for its reservation; `null`: it has enough. */
function findTooFew(rules: RuleSet, { for: group, slots }: Reservation): string | null {
  const { users = [], hosts = [], addresses = [], groups = [], directory } = rules.groups[group] ?? {};
  const isOpen = [...hosts, ...addresses, ...groups].length > 0 || users.some((user) => user.includes('*'));
  if (isOpen || directory !== undefined || users.length === 0 || slots <= users.length) return null;
  const members = users.length === 1 ? 'one user' : `${users.length} users`;
  return `${group} has only ${members}, and a user holds at most one slot of a license.`;
}

/** Many products reserve slots for the same groups. */
const TYPICAL = new WeakMap<RuleSet, Map<string, readonly ReadonlySet<string>[]>>();

function listTypical(rules: RuleSet, group: string): readonly ReadonlySet<string>[] {
  const known = TYPICAL.get(rules) ?? new Map();
  TYPICAL.set(rules, known);
  return known.getOrInsertComputed(group, () => findTypical(rules, group));
}

/** The groups of one person for each entry of the group, and of those in it. */
function findTypical(rules: RuleSet, group: string): readonly ReadonlySet<string>[] {
  const inside = Object.entries(rules.groups).filter(([name]) => containersOf(rules, name).has(group));
  const nobody = { user: '', hostname: null, address: null };
  const people = inside
    .values()
    .flatMap(([, { users, hosts, addresses }]): readonly Person[] => [
      ...users.map((user) => ({ ...nobody, user })),
      ...hosts.map((hostname) => ({ ...nobody, hostname })),
      ...addresses.map((range) => ({ ...nobody, address: range.split('/', 1)[0] as string })),
    ]);
  // Who is in the directory is not known when a text is checked.
  const listed = inside.filter(([, { directory }]) => directory !== undefined);
  return [
    ...listed.map(([name]) => containersOf(rules, name)),
    ...people.take(MAX_TYPICAL).map((person) => listGroups(rules, person)),
  ];
}

/** Each is compared with every pattern. */
export const MAX_TYPICAL = 100;

/** One in winter and one in summer: the hours of two zones may meet in one of them only. */
const WEEKS = [instant(Date.UTC(2026, 0, 12)), instant(Date.UTC(2026, 6, 13))];

/** Different sets of rules apply at the beginnings of their times, and outside of all of them. */
function listMoments(rules: RuleSet, own: SlotRules): readonly IsActive[] {
  const used = listUsedTimes(own);
  const windows = used.flatMap((name) => rules.times[name] ?? []);
  const starts = WEEKS.flatMap((week) => windows.flatMap((window) => listStarts(window, week)));
  const active = starts.map((at) => new Set(used.filter((name) => isDuring(rules, name, at))));
  return [new Set<string>(), ...active].map((names): IsActive => {
    return ({ during }) => during === null || names.has(during);
  });
}

export function listUsedTimes({ reserve, limit }: SlotRules): readonly string[] {
  return [...new Set([...reserve, ...limit].flatMap(({ during }) => during ?? []))];
}
