import { DAY_MS, type Instant } from '../nouns/instant.ts';
import { explainUnfit } from '../nouns/user-name.ts';
import { foldWord } from './names.ts';
import type { Group, RuleSet } from './rule-set.ts';

/** What the directory says about a group: who is in it, or why that cannot be told. */
export type GroupAnswer = { readonly dn: string } & (
  | { readonly members: readonly string[] }
  | { readonly problem: string }
);

/** How old the stored members of a group are. */
export interface GroupAge {
  readonly dn: string;
  /** When the directory last told them. */
  readonly answeredAt: Instant;
  /** Why it has not told them since; `null`: it has. */
  readonly problem: string | null;
}

/** Where the rules in force come from. */
export interface WrittenRules {
  readonly text: string;
  /** The revision that brought the text; later ones have other members of groups. */
  readonly writtenIn: number;
  readonly ages: readonly GroupAge[];
}

/** The groups of the directory that the rules name, each once. */
export function listDirectoryGroups({ groups }: RuleSet): readonly string[] {
  return [...new Set(Object.values(groups).flatMap(({ directory }) => directory?.dn ?? []))];
}

/** What the rules know about groups of the directory. */
export function membersOf({ groups }: RuleSet): ReadonlyMap<string, readonly string[]> {
  const known = Object.values(groups).flatMap(({ directory }) => directory ?? []);
  return new Map(known.map(({ dn, members }) => [dn, members]));
}

/** The rules with these members. Groups that are not in the map stay as they are. */
export function withMembers(rules: RuleSet, known: ReadonlyMap<string, readonly string[]>): RuleSet {
  const fill = ({ directory, ...lists }: Group): Group => {
    if (directory === undefined) return lists;
    return { ...lists, directory: { ...directory, members: known.get(directory.dn) ?? directory.members } };
  };
  const groups = Object.entries(rules.groups).map(([name, group]) => [name, fill(group)]);
  return { ...rules, groups: Object.fromEntries(groups) };
}

/** A group of the rules whose members the directory tells. */
export interface ListedGroup extends GroupAge {
  readonly group: string;
  readonly members: readonly string[];
}

export function listGroupsOfDirectory(
  { groups }: RuleSet,
  ages: readonly GroupAge[],
): readonly ListedGroup[] {
  return Object.entries(groups).flatMap(([group, { directory }]) => {
    const age = ages.find(({ dn }) => dn === directory?.dn);
    return directory === undefined || age === undefined ? [] : [{ group, ...directory, ...age }];
  });
}

/** Members that are older are reported: somebody may have joined or left since. */
const OUTDATED_MS = DAY_MS;

export function isOutdated({ answeredAt, problem }: GroupAge, now: Instant): boolean {
  return problem !== null && now - answeredAt >= OUTDATED_MS;
}

/** No user has a longer name. */
const MAX_NAME_LENGTH = 256;

/** Each name once, in order. Names that no user can have are left out. */
export function tidyMembers(names: readonly string[]): readonly string[] {
  const fit = names.filter(
    (name) => name.length <= MAX_NAME_LENGTH && explainUnfit(name) === null && !/[\p{Cc}\p{Cs}]/u.test(name),
  );
  const byFolded = new Map(fit.map((name) => [foldWord(name), name.trim()]));
  byFolded.delete('');
  return [...byFolded].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
}

/** Who joined a group of the rules, and who left it. */
interface MemberChange {
  readonly group: string;
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

export function listMemberChanges(before: RuleSet, after: RuleSet): readonly MemberChange[] {
  return Object.entries(after.groups).flatMap(([group, { directory }]) => {
    if (directory === undefined) return [];
    const earlier = before.groups[group]?.directory?.members ?? [];
    const joined = without(directory.members, earlier);
    const left = without(earlier, directory.members);
    return joined.length + left.length === 0 ? [] : [{ group, joined, left }];
  });
}

function without(names: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others.map(foldWord));
  return names.filter((name) => !known.has(foldWord(name)));
}
