import { foldWord, indexNames, isInRanges, isListed } from './names.ts';
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

/** Who was looked up lately: the same people ask again and again. */
const KNOWN = new WeakMap<RuleSet, Map<string, ReadonlySet<string>>>();

/** Those of 50,000 people take some 10 MB. */
const MAX_KNOWN = 50_000;

/** The groups that the person is in, by their own entries or because a group contains another. */
export function listGroups(rules: RuleSet, person: Person): ReadonlySet<string> {
  const known = KNOWN.get(rules) ?? new Map<string, ReadonlySet<string>>();
  KNOWN.set(rules, known);
  const key = `${person.user}\n${person.hostname ?? ''}\n${person.address ?? ''}`;
  const groups = known.get(key);
  if (groups !== undefined) return groups;
  if (known.size >= MAX_KNOWN) known.clear();
  const found = findGroups(rules, person);
  known.set(key, found);
  return found;
}

function findGroups(rules: RuleSet, person: Person): ReadonlySet<string> {
  const found = new Set<string>();
  const user = foldWord(person.user);
  const named = hostOf(person);
  const host = named === null ? null : foldWord(named);
  const containers = containersOf(rules);
  for (const [name, group] of Object.entries(rules.groups)) {
    const index = indexNames(group);
    const isMember =
      isListed(user, index.users) ||
      (host !== null && isListed(host, index.hosts)) ||
      (person.address !== null && isInRanges(person.address, index));
    if (isMember) for (const one of containers.get(name) as readonly string[]) found.add(one);
  }
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

export function joinNames(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;
}
