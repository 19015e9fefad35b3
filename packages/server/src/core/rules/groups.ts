import { foldWord, indexNames, isInRanges, isListed, type NameIndex } from './names.ts';
import type { RuleSet } from './rule-set.ts';

/** Who takes or holds a slot, as far as the rules look. */
export interface Person {
  readonly user: string;
  readonly hostname: string | null;
  /** Of the connection, not the one that the client claims. */
  readonly address: string | null;
}

/** A request without a host name has its address as host. */
export function hostOf({ hostname, address }: Omit<Person, 'user'>): string | null {
  return hostname ?? address;
}

/** Groups of one set that contain each other are resolved once. */
const CONTAINERS = new WeakMap<RuleSet, ReadonlyMap<string, readonly string[]>>();

/** Who is in which groups, ready to be looked up. Groups that contain a group are listed beside it. */
interface GroupIndex {
  /** By the names without a star. */
  readonly users: ReadonlyMap<string, readonly string[]>;
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  /** Those with stars, which are tried one by one. */
  readonly starred: readonly { readonly names: NameIndex; readonly groups: readonly string[] }[];
  readonly ranged: readonly { readonly names: NameIndex; readonly groups: readonly string[] }[];
  /** By the addresses of late: to find them among ranges takes longer than all the rest. */
  readonly addresses: Map<string, readonly string[]>;
}

const INDEXED = new WeakMap<RuleSet, GroupIndex>();

/** Those of 50,000 addresses take some 5 MB. */
const MAX_ADDRESSES = 50_000;

function indexGroups(rules: RuleSet): GroupIndex {
  const known = INDEXED.get(rules);
  if (known !== undefined) return known;
  const containers = containersOf(rules);
  const all = Object.entries(rules.groups).map(([name, group]) => {
    const members = group.directory?.members.map(foldWord) ?? [];
    return { names: indexNames(group), members, groups: containers.get(name) as readonly string[] };
  });
  const index: GroupIndex = {
    users: byName(
      all.map(({ names, members, groups }) => ({ exact: [...names.users.exact, ...members], groups })),
    ),
    hosts: byName(all.map(({ names, groups }) => ({ exact: names.hosts.exact, groups }))),
    starred: all.filter(({ names: { users, hosts } }) => users.patterns.length + hosts.patterns.length > 0),
    ranged: all.filter(({ names }) => names.ranges.length > 0),
    addresses: new Map(),
  };
  INDEXED.set(rules, index);
  return index;
}

function byName(
  all: readonly { readonly exact: Iterable<string>; readonly groups: readonly string[] }[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { exact, groups } of all) {
    for (const name of exact) found.getOrInsertComputed(name, () => []).push(...groups);
  }
  return found;
}

/** The groups that the person is in, by their own entries or because a group contains another. */
export function listGroups(rules: RuleSet, person: Person): ReadonlySet<string> {
  const index = indexGroups(rules);
  const user = foldWord(person.user);
  const named = hostOf(person);
  const host = named === null ? null : foldWord(named);
  const found = new Set(index.users.get(user));
  if (host !== null) for (const group of index.hosts.get(host) ?? []) found.add(group);
  for (const { names, groups } of index.starred) {
    const isMember = isListed(user, names.users) || (host !== null && isListed(host, names.hosts));
    if (isMember) for (const group of groups) found.add(group);
  }
  if (person.address !== null) for (const group of listAt(index, person.address)) found.add(group);
  return found;
}

function listAt({ ranged, addresses }: GroupIndex, address: string): readonly string[] {
  if (ranged.length === 0) return ranged as readonly never[];
  const known = addresses.get(address);
  if (known !== undefined) return known;
  const found = ranged.flatMap(({ names, groups }) => (isInRanges(address, names) ? groups : []));
  if (addresses.size >= MAX_ADDRESSES) addresses.clear();
  addresses.set(address, found);
  return found;
}

/** Every group with itself and all groups that contain it, however deep. */
export function containersOf(rules: RuleSet): ReadonlyMap<string, readonly string[]> {
  const known = CONTAINERS.get(rules);
  if (known !== undefined) return known;
  const names = Object.keys(rules.groups);
  const outer = new Map<string, string[]>(names.map((name) => [name, []]));
  for (const [name, { groups }] of Object.entries(rules.groups)) {
    for (const inner of groups) outer.get(inner)?.push(name);
  }
  const containers = new Map(names.map((name) => [name, listContainers(outer, name)]));
  CONTAINERS.set(rules, containers);
  return containers;
}

/** `outer`: the groups that name a group. */
function listContainers(outer: ReadonlyMap<string, readonly string[]>, name: string): readonly string[] {
  const found = new Set([name]);
  for (const inner of found) {
    for (const one of outer.get(inner) ?? []) found.add(one);
  }
  return [...found];
}
