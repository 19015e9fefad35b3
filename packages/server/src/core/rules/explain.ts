import type { Refused } from '../outcome.ts';
import { type Asking, findAccessRule } from './admit.ts';
import { findSlotRules } from './find-rules.ts';
import { hostOf, type Person } from './groups.ts';
import { nameLimit, nameReservation } from './judge-slot.ts';
import { foldWord, indexNames, isInRanges, isListed } from './names.ts';
import { NAME_LISTS, type RuleSet, type SlotRules } from './rule-set.ts';

/** The rule that decides about a request; all `null`: none does. */
interface DecidingRule {
  readonly kind: 'deny' | 'allow' | 'limit' | 'reserve' | null;
  readonly rule: string | null;
  readonly line: number | null;
}

export const NO_RULE: DecidingRule = { kind: null, rule: null, line: null };

/** What it was that refused a request for a slot. */
export function explainRefusal(
  rules: RuleSet,
  asking: Asking,
  wanted: { readonly product: string; readonly feature: string | null },
  { code, details }: Pick<Refused, 'code' | 'details'>,
): DecidingRule {
  const { product, feature } = wanted;
  if (code === 'blacklisted') {
    const found = findAccessRule(rules, asking, product, feature);
    return found === null ? NO_RULE : { kind: found.kind, rule: found.text, line: found.line };
  }
  const own = findSlotRules(rules, product, feature);
  if (typeof details.rule !== 'string' || own === null) return NO_RULE;
  const kind = details.rule.startsWith('limit ') ? 'limit' : 'reserve';
  return { kind, rule: details.rule, line: findLine(own, details.rule) };
}

/** Where a rule stands. A refusal joins the names of several reservations: then it is the first of them. */
export function findLine({ reserve, limit }: SlotRules, rule: string): number | null {
  const isNamed = (name: string) => rule === name || rule.startsWith(`${name}, `);
  const found =
    limit.find((one) => isNamed(nameLimit(one))) ?? reserve.find((one) => isNamed(nameReservation(one)));
  return found?.line ?? null;
}

/** A group, and what makes somebody a member: "users: cad-*". */
interface Membership {
  readonly group: string;
  readonly by: string;
}

/** All groups of a person, each with the first entry that matches. */
export function explainGroups(rules: RuleSet, person: Person): readonly Membership[] {
  const found = new Map<string, string>();
  for (const [name, group] of Object.entries(rules.groups)) {
    for (const list of NAME_LISTS) {
      const entry = group[list].find((one) => isMatch(list, one, person));
      if (entry !== undefined && !found.has(name)) found.set(name, `${list}: ${entry}`);
    }
    const { dn, members = [] } = group.directory ?? {};
    const isMember = members.some((one) => foldWord(one) === foldWord(person.user));
    if (isMember && !found.has(name)) found.set(name, `directory: ${dn}`);
  }
  // Members of a group are members of those that contain it: each is looked at once, as they are found.
  for (const inner of found.keys()) {
    for (const [outer, { groups }] of Object.entries(rules.groups)) {
      if (groups.includes(inner) && !found.has(outer)) found.set(outer, `groups: ${inner}`);
    }
  }
  return [...found].map(([group, by]) => ({ group, by }));
}

function isMatch(list: (typeof NAME_LISTS)[number], entry: string, person: Person): boolean {
  const index = indexNames({ users: [], hosts: [], addresses: [], [list]: [entry] });
  const host = hostOf(person);
  switch (list) {
    case 'users':
      return isListed(foldWord(person.user), index.users);
    case 'hosts':
      return host !== null && isListed(foldWord(host), index.hosts);
    case 'addresses':
      return person.address !== null && isInRanges(person.address, index);
  }
}
