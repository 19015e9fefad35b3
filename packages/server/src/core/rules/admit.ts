import { BAR_KINDS } from '@berth/protocol/admin/choices';
import type { BarKind } from '../nouns/bar.ts';
import { type Refused, refuse } from '../outcome.ts';
import { findProductRules, findSlotRules } from './find-rules.ts';
import { hostOf, listGroups, type Person } from './groups.ts';
import { joinNames } from './judge-slot.ts';
import { foldWord, indexNames, isInRanges, isListed, type NameIndex } from './names.ts';
import type { Denied, RuleSet } from './rule-set.ts';

/** Who asks for a slot, or counts. */
export interface Asking extends Omit<Person, 'user'> {
  readonly user: string | null;
  /** The address that the client claims, which `deny` looks at as well. */
  readonly claimedAddress: string | null;
}

/** What keeps somebody out. */
interface AccessRule {
  readonly kind: 'deny' | 'allow';
  /** In a few words, as refusals name it. */
  readonly text: string;
  readonly line: number | null;
  /** Of `deny`: which of their names is listed; `null`: a group of theirs. */
  readonly barred: BarKind | null;
  readonly message: string;
  /** It holds for every product. */
  readonly isForAll: boolean;
}

/** Why `deny` or `allow` refuse; `null`: they do not. Deny comes first; `allow` is only about slots. */
export function refuseByAccess(
  rules: RuleSet,
  asking: Asking,
  product: string,
  feature: string | null,
  isSlot = true,
): Refused | null {
  const rule = findAccessRule(rules, asking, product, feature);
  if (rule === null || (rule.kind === 'allow' && !isSlot)) return null;
  const { barred, text, message, isForAll } = rule;
  if (barred === null) return refuse('blacklisted', message, { rule: text });
  const details = isForAll ? { barred } : { barred, rule: text };
  return { ...refuse('blacklisted', message, details), recorded: { barred, barredBy: 'rules_file' } };
}

/** The first rule that keeps them out. */
export function findAccessRule(
  rules: RuleSet,
  asking: Asking,
  product: string,
  feature: string | null,
): AccessRule | null {
  const whole = findProductRules(rules, product);
  const part = feature === null ? null : findSlotRules(rules, product, feature);
  const scopes = [
    { name: product, own: whole },
    { name: feature ?? '', own: part },
  ];
  const groupsOf = once(() => listGroups(rules, { ...asking, user: asking.user ?? '' }));
  const forAll = findDenied(rules.deny, asking, groupsOf);
  if (forAll !== null) return denyAll(forAll, rules.lines?.deny ?? null);
  for (const { name, own } of scopes) {
    const found = own === null ? null : findDenied(own.deny, asking, groupsOf);
    if (found !== null) return denyOne(name, found, own?.lines?.deny ?? null);
  }
  for (const { name, own } of scopes) {
    if (own === null || own.allow === null || own.allow.some((group) => groupsOf().has(group))) continue;
    return allowOthers(name, own.allow, own.lines?.allow ?? null);
  }
  return null;
}

/** Most rules name no group here, and then nobody's groups have to be found. */
function once<Value>(find: () => Value): () => Value {
  let found: Value | undefined;
  return () => {
    found ??= find();
    return found;
  };
}

type Found =
  | { readonly barred: BarKind; readonly name: string }
  | { readonly barred: null; readonly group: string };

function findDenied(deny: Denied, asking: Asking, groupsOf: () => ReadonlySet<string>): Found | null {
  const index = indexNames(deny);
  for (const barred of BAR_KINDS) {
    const name = NAMES_OF[barred](asking).find((one) => one !== null && IS_DENIED[barred](one, index));
    if (name != null) return { barred, name };
  }
  const group = deny.groups.find((one) => groupsOf().has(one));
  return group === undefined ? null : { barred: null, group };
}

const NAMES_OF: Readonly<Record<BarKind, (asking: Asking) => readonly (string | null)[]>> = {
  user: ({ user }) => [user],
  host: (asking) => [hostOf(asking)],
  address: ({ address, claimedAddress }) => [address, claimedAddress],
};

const IS_DENIED: Readonly<Record<BarKind, (name: string, index: NameIndex) => boolean>> = {
  user: (name, { users }) => isListed(foldWord(name), users),
  host: (name, { hosts }) => isListed(foldWord(name), hosts),
  address: isInRanges,
};

/** As a bar says it: clients do not learn which of the two it is. */
function denyAll(found: Found, line: number | null): AccessRule {
  const message =
    found.barred === null
      ? `Members of ${found.group} are barred on this license server. Ask its administrator.`
      : `The ${found.barred} "${found.name}" is barred on this license server. Ask its administrator.`;
  return { kind: 'deny', text: nameDeny(found), line, barred: found.barred, message, isForAll: true };
}

function denyOne(name: string, found: Found, line: number | null): AccessRule {
  const text = nameDeny(found);
  const whom = found.barred === null ? `Members of ${found.group}` : `The ${found.barred} "${found.name}"`;
  const message = `${whom} may not use "${name}". Ask your administrator (rule: ${text}).`;
  return { kind: 'deny', text, line, barred: found.barred, message, isForAll: false };
}

function nameDeny(found: Found): string {
  return found.barred === null ? `deny ${found.group}` : `deny by ${found.barred}`;
}

function allowOthers(name: string, allowed: readonly string[], line: number | null): AccessRule {
  const isNobody = allowed.length === 0;
  const text = isNobody ? 'allow nobody' : `allow ${shorten(allowed).join(', ')}`;
  const whom = isNobody ? `Nobody may use "${name}"` : `"${name}" is for ${joinNames(shorten(allowed))} only`;
  const message = `${whom}. Ask your administrator (rule: ${text}).`;
  return { kind: 'allow', text, line, barred: null, message, isForAll: false };
}

/** A message has room for a few names. */
const MAX_NAMED = 8;

function shorten(groups: readonly string[]): readonly string[] {
  if (groups.length <= MAX_NAMED) return groups;
  return [...groups.slice(0, MAX_NAMED), `${groups.length - MAX_NAMED} other groups`];
}
