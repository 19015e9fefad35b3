import { parseRange } from '@berth/protocol/address-range';
import type { Actor } from '../nouns/actor.ts';
import type { HostInfo } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { fitsPattern, foldName, type NamePattern, parsePattern } from './name-pattern.ts';
import { indexRanges, isIndexed, type RangeIndex } from './range-index.ts';

/**
 * The administrator's own rules, the same for every license. Whoever is denied can take and renew nothing;
 * what they hold ends at its own time, and they can always give it back.
 */
export interface Rules {
  readonly deny: DenyList;
}

export const DENY_LISTS = ['users', 'hosts', 'addresses'] as const;

/** In names of users and hosts `*` stands for any run of characters. Addresses may be ranges: 10.0.0.0/8. */
export type DenyList = Readonly<Record<(typeof DENY_LISTS)[number], readonly string[]>>;

/** The only value for "no rules", so that a comparison is enough: most servers have none. */
export const NO_RULES: Rules = { deny: { users: [], hosts: [], addresses: [] } };

/** Who asks, as far as a command says. */
export interface Asker {
  readonly user: string | null;
  readonly host?: HostInfo;
  readonly by?: Actor;
}

export function orNoRules(rules: Rules): Rules {
  return DENY_LISTS.every((list) => rules.deny[list].length === 0) ? NO_RULES : rules;
}

export function isSameRules(a: Rules, b: Rules): boolean {
  return DENY_LISTS.every((list) => isSameList(a.deny[list], b.deny[list]));
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}

/** Why the rules deny somebody; `null`: they do not. */
export function refuseByRules(rules: Rules, asker: Asker): Refused | null {
  if (rules === NO_RULES) return null;
  const { users, hosts, ranges } = compile(rules);
  const { user, host } = asker;
  if (user !== null && isListed(user, users)) return refuseBarred('user', user);
  const hostname = host?.hostname ?? null;
  if (hostname !== null && isListed(hostname, hosts)) return refuseBarred('host', hostname);
  const address = addressesOf(asker).find((one) => isIndexed(one, ranges));
  return address === undefined ? null : refuseBarred('address', address);
}

function refuseBarred(barred: 'user' | 'host' | 'address', name: string): Refused {
  return refuse(
    'blacklisted',
    `The ${barred} "${name}" is barred on this license server. Ask its administrator.`,
    { barred },
  );
}

/** The address that the request came from, and the one that its sender claims. */
function addressesOf({ by, host }: Asker): readonly string[] {
  const came = typeof by === 'object' ? [by.address] : [];
  return host?.address == null ? came : [...came, host.address];
}

/** Names without a star are looked up; the others are tried one by one. */
interface NameList {
  readonly exact: ReadonlySet<string>;
  readonly patterns: readonly NamePattern[];
}

interface Compiled {
  readonly users: NameList;
  readonly hosts: NameList;
  readonly ranges: RangeIndex;
}

/** Compiled once per version of the rules. */
const COMPILED = new WeakMap<Rules, Compiled>();

function compile(rules: Rules): Compiled {
  const known = COMPILED.get(rules);
  if (known !== undefined) return known;
  const { users, hosts, addresses } = rules.deny;
  const ranges = indexRanges(addresses.map(parseRange).filter((range) => range !== null));
  const compiled = { users: compileNames(users), hosts: compileNames(hosts), ranges };
  COMPILED.set(rules, compiled);
  return compiled;
}

function compileNames(words: readonly string[]): NameList {
  const patterns = words.map((word) => parsePattern(word.trim()));
  return {
    exact: new Set(patterns.filter(({ back }) => back === null).map(({ front }) => front)),
    patterns: patterns.filter(({ back }) => back !== null),
  };
}

function isListed(name: string, { exact, patterns }: NameList): boolean {
  const folded = foldName(name).trim();
  return exact.has(folded) || patterns.some((pattern) => fitsPattern(folded, pattern));
}
