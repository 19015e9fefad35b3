import { countPatterns, foldWord, indexNames, isInRanges, isListed, type NameIndex } from './names.ts';
import type { RuleSet } from './rule-set.ts';

/** Who takes or holds a slot, as far as the rules look. */
export interface Person {
  readonly user: string;
  readonly hostname: string | null;
  /** Of the connection, not the one that the client claims. */
  readonly address: string | null;
  /** Groups that they are in besides. */
  readonly groups?: readonly string[];
}

/** A request without a host name has its address as host. */
export function hostOf({ hostname, address }: Omit<Person, 'user'>): string | null {
  return hostname ?? address;
}

/** A group with lists that are tried one by one. */
interface NamedGroup {
  readonly names: NameIndex;
  readonly group: string;
}

/** Who is in which groups, ready to be looked up: it grows with the text, and is made once for it. */
interface GroupIndex {
  /** The groups that list a name without a star; those around them are found when somebody asks. */
  readonly users: ReadonlyMap<string, readonly string[]>;
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  readonly starred: readonly NamedGroup[];
  readonly ranged: readonly NamedGroup[];
  /** The groups that name a group. */
  readonly outer: ReadonlyMap<string, readonly string[]>;
  /** By the addresses of late: to find them among ranges takes longer than all the rest. */
  readonly addresses: Map<string, readonly string[]>;
  /** Groups with those that contain them, as far as they were asked for. */
  readonly containers: Map<string, ReadonlySet<string>>;
}

const INDEXED = new WeakMap<RuleSet, GroupIndex>();

/** Those of 50,000 addresses take some 5 MB. */
const MAX_ADDRESSES = 50_000;

function indexGroups(rules: RuleSet): GroupIndex {
  const known = INDEXED.get(rules);
  if (known !== undefined) return known;
  const groups = Object.entries(rules.groups);
  const all = groups.map(([group, lists]) => ({ group, names: indexNames(lists) }));
  const index: GroupIndex = {
    users: listByName([
      ...all.map(({ group, names }) => [group, names.users.exact] as const),
      ...groups.map(([group, { directory }]) => [group, directory?.members.map(foldWord) ?? []] as const),
    ]),
    hosts: listByName(all.map(({ group, names }) => [group, names.hosts.exact] as const)),
    starred: all.filter(({ names }) => countPatterns(names) > 0),
    ranged: all.filter(({ names }) => names.ranges.length > 0),
    outer: listByName(groups.map(([group, lists]) => [group, lists.groups] as const)),
    addresses: new Map(),
    containers: new Map(),
  };
  INDEXED.set(rules, index);
  return index;
}

/** By each name, the groups that list it. */
function listByName(
  all: readonly (readonly [group: string, names: Iterable<string>])[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [group, names] of all) {
    for (const name of names) found.getOrInsertComputed(name, () => []).push(group);
  }
  return found;
}

/** The groups that the person is in, by their own entries or because a group contains another. */
export function listGroups(rules: RuleSet, person: Person): ReadonlySet<string> {
  const index = indexGroups(rules);
  const user = foldWord(person.user);
  const named = hostOf(person);
  const host = named === null ? null : foldWord(named);
  const found = new Set([...(person.groups ?? []), ...(index.users.get(user) ?? [])]);
  if (host !== null) for (const group of index.hosts.get(host) ?? []) found.add(group);
  for (const { names, group } of index.starred) {
    if (isListed(user, names.users) || (host !== null && isListed(host, names.hosts))) found.add(group);
  }
  if (person.address !== null) for (const group of listAt(index, person.address)) found.add(group);
  return addOuter(index, found);
}

/** Adds the groups that contain those, however deep. */
function addOuter({ outer }: GroupIndex, found: Set<string>): ReadonlySet<string> {
  for (const inner of found) for (const one of outer.get(inner) ?? []) found.add(one);
  return found;
}

function listAt({ ranged, addresses }: GroupIndex, address: string): readonly string[] {
  if (ranged.length === 0) return ranged as readonly never[];
  const known = addresses.get(address);
  if (known !== undefined) return known;
  const found = ranged.flatMap(({ names, group }) => (isInRanges(address, names) ? [group] : []));
  if (addresses.size >= MAX_ADDRESSES) addresses.clear();
  addresses.set(address, found);
  return found;
}

/** The group and all groups that contain it, however deep. */
export function containersOf(rules: RuleSet, group: string): ReadonlySet<string> {
  const index = indexGroups(rules);
  return index.containers.getOrInsertComputed(group, () => addOuter(index, new Set([group])));
}

/** With how many patterns and lengths of ranges somebody is compared to find their groups. */
export function countCompared(rules: RuleSet): number {
  const { starred, ranged } = indexGroups(rules);
  const patterns = starred.reduce((sum, { names }) => sum + countPatterns(names), 0);
  return ranged.reduce((sum, { names }) => sum + names.ranges.length, patterns);
}

/** The names in all groups, with those of groups within, each once a group. Counts on to `most`. */
export function countMembers(rules: RuleSet, most: number): number {
  const index = indexGroups(rules);
  const known = new Map<string, number>();
  const patterns = index.starred.flatMap(({ names, group }) =>
    Array.from({ length: countPatterns(names) }, () => [group]),
  );
  let members = 0;
  for (const groups of [...index.users.values(), ...index.hosts.values(), ...patterns]) {
    members += known.getOrInsertComputed(groups.join(), () => addOuter(index, new Set(groups)).size);
    if (members > most) return members;
  }
  return members;
}
