import { parseRange } from '@berth/protocol/address-range';
import { BAR_KINDS } from '@berth/protocol/admin/choices';
import type { Actor } from '../nouns/actor.ts';
import type { Bar, BarKind, BarSource } from '../nouns/bar.ts';
import { fitsPattern, foldName, type NamePattern, parsePattern } from '../nouns/name-pattern.ts';
import type { HostInfo } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { indexRanges, isIndexed, type RangeIndex } from './range-index.ts';

/**
 * The administrator's own rules, the same for every license. Whoever is denied can take and renew nothing;
 * what they hold ends at its own time, and they can always give it back.
 */
export interface Rules extends FileRules {
  /** Those barred by a command, which stay when the file changes. */
  readonly bars: readonly Bar[];
}

/** What the rules file says. */
export interface FileRules {
  readonly deny: DenyList;
}

const DENY_LISTS = ['users', 'hosts', 'addresses'] as const;

/** In names of users and hosts `*` stands for any run of characters. Addresses may be ranges: 10.0.0.0/8. */
export type DenyList = Readonly<Record<(typeof DENY_LISTS)[number], readonly string[]>>;

/** The only value for "no rules", so that a comparison is enough: most servers have none. */
export const NO_RULES: Rules = { deny: { users: [], hosts: [], addresses: [] }, bars: [] };

/** Who asks, as far as a command says. */
export interface Asker {
  readonly user: string | null;
  readonly host?: HostInfo;
  readonly by?: Actor;
}

export function orNoRules(rules: Rules): Rules {
  return isEmptyRules(rules) && rules.bars.length === 0 ? NO_RULES : rules;
}

export function isEmptyRules({ deny }: FileRules): boolean {
  return DENY_LISTS.every((list) => deny[list].length === 0);
}

export function isSameRules(a: FileRules, b: FileRules): boolean {
  return DENY_LISTS.every((list) => isSameList(a.deny[list], b.deny[list]));
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}

/** Why the rules deny a request; `null`: they do not. */
export function refuseByRules(rules: Rules, asker: Asker): Refused | null {
  if (rules === NO_RULES) return null;
  const sources = [
    ['rules_file', compile(rules.deny)],
    ['bar', compile(listDenied(rules.bars))],
  ] as const;
  const found = findDenied(sources, asker);
  return found === null ? null : refuseBarred(found);
}

interface Denied {
  readonly source: BarSource;
  readonly barred: BarKind;
  readonly name: string;
}

function findDenied(sources: readonly (readonly [BarSource, Compiled])[], asker: Asker): Denied | null {
  for (const barred of BAR_KINDS) {
    for (const [source, compiled] of sources) {
      const name = NAMES_OF[barred](asker).find((one) => isDenied[barred](one, compiled));
      if (name !== undefined) return { source, barred, name };
    }
  }
  return null;
}

/** What is compared with patterns of each kind. */
const NAMES_OF: Readonly<Record<BarKind, (asker: Asker) => readonly string[]>> = {
  user: ({ user }) => (user === null ? [] : [user]),
  host: ({ host }) => (host?.hostname == null ? [] : [host.hostname]),
  address: addressesOf,
};

const isDenied: Readonly<Record<BarKind, (name: string, compiled: Compiled) => boolean>> = {
  user: (name, { users }) => isListed(name, users),
  host: (name, { hosts }) => isListed(name, hosts),
  address: (name, { ranges }) => isIndexed(name, ranges),
};

/** Clients do not learn which source bars them; the audit log records it. */
function refuseBarred({ source, barred, name }: Denied): Refused {
  const message = `The ${barred} "${name}" is barred on this license server. Ask its administrator.`;
  return { ...refuse('blacklisted', message, { barred }), recorded: { barred, barredBy: source } };
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

/** Compiled once per version. */
const COMPILED = new WeakMap<DenyList, Compiled>();

function compile(deny: DenyList): Compiled {
  const known = COMPILED.get(deny);
  if (known !== undefined) return known;
  const { users, hosts, addresses } = deny;
  const ranges = indexRanges(addresses.map(parseRange).filter((range) => range !== null));
  const compiled = { users: compileNames(users), hosts: compileNames(hosts), ranges };
  COMPILED.set(deny, compiled);
  return compiled;
}

const LISTED = new WeakMap<readonly Bar[], DenyList>();

function listDenied(bars: readonly Bar[]): DenyList {
  const known = LISTED.get(bars);
  if (known !== undefined) return known;
  const listOf = (kind: BarKind) => bars.filter((bar) => bar.kind === kind).map(({ pattern }) => pattern);
  const deny = { users: listOf('user'), hosts: listOf('host'), addresses: listOf('address') };
  LISTED.set(bars, deny);
  return deny;
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

/** A rule or a bar, and where it comes from. */
export interface Barring extends Bar {
  readonly source: BarSource;
}

/** All rules and bars that apply, for administrators; a request is refused by the first. */
export function listBarring(rules: Rules, asker: Asker): readonly Barring[] {
  return listAll(rules).filter((bar) => refuseByRules({ ...NO_RULES, bars: [bar] }, asker) !== null);
}

function listAll({ deny: { users, hosts, addresses }, bars }: Rules): readonly Barring[] {
  const fromFile = (kind: BarKind, words: readonly string[]) =>
    words.map((pattern): Barring => ({ source: 'rules_file', kind, pattern, note: null }));
  return [
    ...fromFile('user', users),
    ...fromFile('host', hosts),
    ...fromFile('address', addresses),
    ...bars.map((bar): Barring => ({ source: 'bar', ...bar })),
  ];
}
