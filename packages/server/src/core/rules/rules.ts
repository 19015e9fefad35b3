import { BAR_KINDS } from '@berth/protocol/admin/choices';
import { type Actor, addressOf } from '../nouns/actor.ts';
import type { Bar, BarKind, BarSource } from '../nouns/bar.ts';
import type { HostInfo } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { refuseByAccess } from './admit.ts';
import { findProductRules, findSlotRules } from './find-rules.ts';
import type { Person } from './groups.ts';
import { foldWord, indexNames, isInRanges, isListed, type NameIndex } from './names.ts';
import { type Denied, EMPTY_RULE_SET, type NameLists, type RuleSet, type SlotRules } from './rule-set.ts';

/**
 * The administrator's own rules. Whoever is denied can take and renew nothing; what they hold ends at its own
 * time, and they can always give it back.
 */
export interface Rules {
  readonly set: RuleSet;
  /** Counts every version of the set; 0: there has been none. */
  readonly revision: number;
  /** Those barred by a command, which stay when the set changes. */
  readonly bars: readonly Bar[];
}

/** The only value for "no rules", so that a comparison is enough: most servers have none. */
export const NO_RULES: Rules = { set: EMPTY_RULE_SET, revision: 0, bars: [] };

export function orNoRules(rules: Rules): Rules {
  return rules.revision === 0 && rules.bars.length === 0 ? NO_RULES : rules;
}

/** Who asks, as far as a command says. */
export interface Asker {
  readonly user: string | null;
  readonly host?: HostInfo;
  readonly by?: Actor;
}

export function personOf({ user, host, by }: Asker): Person {
  return { user: user ?? '', hostname: host?.hostname ?? null, address: addressOf(by) };
}

/** Why bars, `deny` and `allow` keep somebody from a slot; `null`: they do not. */
export function refuseByRules(
  rules: Rules,
  asker: Asker,
  product: string,
  feature: string | null,
): Refused | null {
  return isOpen(rules, product, feature) ? null : judgeAccess(rules, asker, product, feature, true);
}

/** The same for one who only counts: `allow` is about slots. */
export function refuseCounter(
  rules: Rules,
  asker: Asker,
  product: string,
  feature: string | null,
): Refused | null {
  return isOpen(rules, product, feature) ? null : judgeAccess(rules, asker, product, feature, false);
}

/** Whether bars, `deny` and `allow` keep nobody out. Asked for every request, so it looks at little. */
function isOpen(rules: Rules, product: string, feature: string | null): boolean {
  if (rules === NO_RULES) return true;
  const { bars, set } = rules;
  if (bars.length > 0 || !isEmpty(set.deny)) return false;
  const own = findProductRules(set, product);
  return (
    own === null || (isOpenTo(own) && (feature === null || isOpenTo(findSlotRules(set, product, feature))))
  );
}

function isOpenTo(own: SlotRules | null): boolean {
  return own === null || (own.allow === null && isEmpty(own.deny));
}

function isEmpty({ users, hosts, addresses, groups }: Denied): boolean {
  return users.length + hosts.length + addresses.length + groups.length === 0;
}

function judgeAccess(
  { bars, set }: Rules,
  asker: Asker,
  product: string,
  feature: string | null,
  isSlot: boolean,
): Refused | null {
  const { user, host, by } = asker;
  const asking = {
    user,
    hostname: host?.hostname ?? null,
    address: addressOf(by),
    claimedAddress: host?.address ?? null,
  };
  return refuseByBars(bars, asker) ?? refuseByAccess(set, asking, product, feature, isSlot);
}

function refuseByBars(bars: readonly Bar[], asker: Asker): Refused | null {
  if (bars.length === 0) return null;
  const index = indexNames(listBarred(bars));
  for (const kind of BAR_KINDS) {
    const name = NAMES_OF[kind](asker).find((one) => isBarred[kind](one, index));
    if (name !== undefined) return refuseBarred(kind, name);
  }
  return null;
}

/** What is compared with bars of each kind. */
const NAMES_OF: Readonly<Record<BarKind, (asker: Asker) => readonly string[]>> = {
  user: ({ user }) => (user === null ? [] : [user]),
  host: ({ host }) => (host?.hostname == null ? [] : [host.hostname]),
  // The address that the request came from, and the one that its sender claims.
  address: ({ by, host }) => [addressOf(by), host?.address ?? null].filter((one) => one !== null),
};

const isBarred: Readonly<Record<BarKind, (name: string, index: NameIndex) => boolean>> = {
  user: (name, { users }) => isListed(foldWord(name), users),
  host: (name, { hosts }) => isListed(foldWord(name), hosts),
  address: isInRanges,
};

function refuseBarred(barred: BarKind, name: string): Refused {
  const message = `The ${barred} "${name}" is barred on this license server. Ask its administrator.`;
  return { ...refuse('blacklisted', message, { barred }), recorded: { barred, barredBy: 'bar' } };
}

const LISTED = new WeakMap<readonly Bar[], NameLists>();

function listBarred(bars: readonly Bar[]): NameLists {
  const known = LISTED.get(bars);
  if (known !== undefined) return known;
  const listOf = (kind: BarKind) => bars.filter((bar) => bar.kind === kind).map(({ pattern }) => pattern);
  const lists = { users: listOf('user'), hosts: listOf('host'), addresses: listOf('address') };
  LISTED.set(bars, lists);
  return lists;
}

/** A bar, or an entry of `deny` for all products. */
export interface Barring extends Bar {
  readonly source: BarSource;
}

/** All bars, and entries of `deny` for all products, that match. */
export function listBarring({ set, bars }: Rules, asker: Asker): readonly Barring[] {
  const { users, hosts, addresses } = set.deny;
  const fromRules = (kind: BarKind, words: readonly string[]) =>
    words.map((pattern): Barring => ({ source: 'rules_file', kind, pattern, note: null }));
  const all = [
    ...fromRules('user', users),
    ...fromRules('host', hosts),
    ...fromRules('address', addresses),
    ...bars.map((bar): Barring => ({ source: 'bar', ...bar })),
  ];
  return all.filter((bar) => refuseByBars([bar], asker) !== null);
}
