import { parseRange } from '@berth/protocol/address-range';
import { fitsPattern, foldName, type NamePattern, parsePattern } from '../nouns/name-pattern.ts';
import { foldWord } from './names.ts';
import { indexRanges, isIndexed, type RangeIndex } from './range-index.ts';
import type { Group, RuleSet } from './rule-set.ts';

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

/** The groups that list a name or a pattern; those around them are found when somebody asks. */
interface NameTable {
  readonly exact: ReadonlyMap<string, readonly string[]>;
  /** Those with stars, each once: they are tried one by one. */
  readonly starred: readonly { readonly pattern: NamePattern; readonly groups: readonly string[] }[];
}

/** Who is in which groups, ready to be looked up: it grows with the text, and is made once for it. */
interface GroupIndex {
  readonly users: NameTable;
  readonly hosts: NameTable;
  readonly ranged: readonly { readonly ranges: RangeIndex; readonly group: string }[];
  /** The groups that name a group. */
  readonly outer: ReadonlyMap<string, readonly string[]>;
  /** By the addresses of late: to find them among ranges takes longer than all the rest. */
  readonly addresses: Map<string, readonly string[]>;
  /** By the people of late, if there are many patterns. */
  readonly people: Map<string, ReadonlySet<string>>;
}

const INDEXED = new WeakMap<RuleSet, GroupIndex>();

/** Those of 50,000 addresses take some 5 MB. */
const MAX_ADDRESSES = 50_000;

/** To look somebody up among the people of late takes as long as so many patterns. */
const FEW_PATTERNS = 20;
/** If each is in a thousand groups, they take some 80 MB. */
const MAX_PEOPLE = 2000;

function indexGroups(rules: RuleSet): GroupIndex {
  const known = INDEXED.get(rules);
  if (known !== undefined) return known;
  const ranged = Object.entries(rules.groups).map(([group, { addresses }]) => ({
    ranges: indexRanges(addresses.map(parseRange).filter((range) => range !== null)),
    group,
  }));
  const index: GroupIndex = {
    users: indexList(
      rules,
      ({ users }) => users,
      ({ directory }) => directory?.members ?? [],
    ),
    hosts: indexList(rules, ({ hosts }) => hosts),
    ranged: ranged.filter(({ ranges }) => ranges.length > 0),
    outer: listOuter(rules),
    addresses: new Map(),
    people: new Map(),
  };
  INDEXED.set(rules, index);
  return index;
}

/** `listPlain`: names in which a star is only a character. */
function indexList(
  { groups }: RuleSet,
  list: (group: Group) => readonly string[],
  listPlain: (group: Group) => readonly string[] = () => [],
): NameTable {
  const exact = new Map<string, string[]>();
  const starred = new Map<string, { readonly pattern: NamePattern; readonly groups: string[] }>();
  const note = (found: string[], group: string) => found.at(-1) === group || found.push(group);
  for (const [name, group] of Object.entries(groups)) {
    for (const entry of list(group)) {
      const word = entry.trim();
      const found = word.includes('*')
        ? starred.getOrInsertComputed(word, () => ({ pattern: parsePattern(word), groups: [] })).groups
        : exact.getOrInsertComputed(foldName(word), () => []);
      note(found, name);
    }
    for (const member of listPlain(group))
      note(
        exact.getOrInsertComputed(foldWord(member), () => []),
        name,
      );
  }
  return { exact, starred: [...starred.values()] };
}

/** The groups that the person is in, by their own entries or because a group contains another. */
export function listGroups(rules: RuleSet, person: Person): ReadonlySet<string> {
  const index = indexGroups(rules);
  const { users, hosts, people } = index;
  const isQuick = users.starred.length + hosts.starred.length <= FEW_PATTERNS;
  if (isQuick || person.groups !== undefined) return findGroups(index, person);
  const key = JSON.stringify([person.user, person.hostname, person.address]);
  const known = people.get(key);
  if (known !== undefined) return known;
  if (people.size >= MAX_PEOPLE) people.clear();
  const found = findGroups(index, person);
  people.set(key, found);
  return found;
}

function findGroups(index: GroupIndex, person: Person): ReadonlySet<string> {
  const host = hostOf(person);
  const found = new Set(person.groups);
  addListed(index.users, foldWord(person.user), found);
  if (host !== null) addListed(index.hosts, foldWord(host), found);
  if (person.address !== null) for (const group of listAt(index, person.address)) found.add(group);
  return addOuter(index.outer, found);
}

function addListed({ exact, starred }: NameTable, name: string, found: Set<string>): void {
  for (const group of exact.get(name) ?? []) found.add(group);
  for (const { pattern, groups } of starred) {
    if (fitsPattern(name, pattern)) for (const group of groups) found.add(group);
  }
}

/** Adds the groups that contain those, however deep. */
function addOuter(outer: GroupIndex['outer'], found: Set<string>): ReadonlySet<string> {
  for (const inner of found) for (const one of outer.get(inner) ?? []) found.add(one);
  return found;
}

function listAt({ ranged, addresses }: GroupIndex, address: string): readonly string[] {
  if (ranged.length === 0) return ranged as readonly never[];
  const known = addresses.get(address);
  if (known !== undefined) return known;
  const found = ranged.flatMap(({ ranges, group }) => (isIndexed(address, ranges) ? [group] : []));
  if (addresses.size >= MAX_ADDRESSES) addresses.clear();
  addresses.set(address, found);
  return found;
}

function listOuter({ groups }: RuleSet): ReadonlyMap<string, readonly string[]> {
  const outer = new Map<string, string[]>();
  for (const [name, group] of Object.entries(groups)) {
    for (const inner of group.groups) outer.getOrInsertComputed(inner, () => []).push(name);
  }
  return outer;
}

/** Groups of one set that contain each other are resolved once. */
const CONTAINERS = new WeakMap<RuleSet, ReadonlyMap<string, ReadonlySet<string>>>();

/** Every group with itself and all groups that contain it, however deep. */
export function containersOf(rules: RuleSet): ReadonlyMap<string, ReadonlySet<string>> {
  const known = CONTAINERS.get(rules);
  if (known !== undefined) return known;
  const { outer } = indexGroups(rules);
  const names = Object.keys(rules.groups);
  const containers = new Map(names.map((name) => [name, addOuter(outer, new Set([name]))]));
  CONTAINERS.set(rules, containers);
  return containers;
}

/** With how many patterns and lengths of ranges somebody is compared to find their groups. */
export function countCompared(rules: RuleSet): number {
  const { users, hosts, ranged } = indexGroups(rules);
  const lengths = ranged.reduce((sum, { ranges }) => sum + ranges.length, 0);
  return users.starred.length + hosts.starred.length + lengths;
}

/** The names in all groups, with those of groups within, each once a group. Counts on to `most`. */
export function countMembers(rules: RuleSet, most: number): number {
  const { users, hosts, outer } = indexGroups(rules);
  const known = new Map<string, number>();
  let members = 0;
  for (const { exact, starred } of [users, hosts]) {
    for (const groups of [...exact.values(), ...starred.map((one) => one.groups)]) {
      const key = groups.join();
      members += known.getOrInsertComputed(key, () => addOuter(outer, new Set(groups)).size);
      if (members > most) return members;
    }
  }
  return members;
}
