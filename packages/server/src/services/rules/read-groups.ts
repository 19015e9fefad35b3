import { suggest } from '@berth/protocol/suggest';
import type { BarKind } from '../../core/nouns/bar.ts';
import { type Denied, type Group, NAME_LISTS, NO_NAMES } from '../../core/rules/rule-set.ts';
import type { Cursor } from './cursor.ts';
import { refuseEntry } from './refuse-entry.ts';

/** Far more than anyone writes by hand; names with a star are tried one by one for each request. */
const MAX_ENTRIES = 10_000;

/** Each request is compared with every group. */
export const MAX_GROUPS = 1000;

/** For each group, all that contain it are found by following these. */
const MAX_CONTAINED = 10_000;

const GROUP_NAME = /^[A-Za-z0-9._-]{1,64}$/;

const KIND_OF: Readonly<Record<(typeof NAME_LISTS)[number], BarKind>> = {
  users: 'user',
  hosts: 'host',
  addresses: 'address',
};

/** The directory is asked about each of them, again and again. */
const MAX_DIRECTORY_GROUPS = 100;
const MAX_DN_LENGTH = 1000;

/** `hasDirectory`: whether the settings name one. */
export function readGroups(
  section: Cursor | undefined,
  hasDirectory: boolean,
): Readonly<Record<string, Group>> {
  const entries = section?.entries() ?? [];
  if (entries.length > MAX_GROUPS)
    section?.fail(`has ${entries.length} groups; at most ${MAX_GROUPS} are allowed.`);
  const names = new Set(entries.map(([name]) => name));
  for (const [name, group] of entries) {
    if (!GROUP_NAME.test(name)) {
      group.fail(
        'is no name of a group. Use up to 64 letters, digits, dots, dashes and underscores.',
        group.at,
      );
    }
  }
  const groups = Object.fromEntries(
    entries.map(([name, group]) => [name, readGroup(group, names, hasDirectory)]),
  );
  const listed = Object.values(groups).filter(({ directory }) => directory !== undefined).length;
  if (listed > MAX_DIRECTORY_GROUPS)
    section?.fail(`has ${listed} groups of the directory; at most ${MAX_DIRECTORY_GROUPS} are allowed.`);
  const contained = Object.values(groups).reduce((sum, group) => sum + group.groups.length, 0);
  if (contained > MAX_CONTAINED)
    section?.fail(`has ${contained} groups within groups; at most ${MAX_CONTAINED} are allowed.`);
  const circles = findCircles(groups);
  for (const [name, group] of entries) {
    const circle = circles.get(name)?.join(' → ');
    if (circle !== undefined) group.fail(`contains itself: ${circle}. Remove one of these.`, group.at);
  }
  return groups;
}

/** Its members in the directory are not in the text. */
function readGroup(section: Cursor, groups: ReadonlySet<string>, hasDirectory: boolean): Group {
  const fields = section.fields([...NAME_LISTS, 'groups', 'directory']);
  const lists = readLists(fields, groups);
  if (fields.directory === undefined) return lists;
  const dn = fields.directory.text();
  if (dn === null) return lists;
  if (dn.length > MAX_DN_LENGTH || !/^[^=,\p{Cc}]+=[^\p{Cc}]+$/u.test(dn)) {
    fields.directory.fail('must be the whole name of a group: "cn=cad,ou=groups,dc=example,dc=com".');
  } else if (!hasDirectory) {
    fields.directory.fail('needs a directory, and this server has none. Set "auth.ldap.url".');
  }
  return { ...lists, directory: { dn, members: [] } };
}

/** Lists of users, hosts, addresses and groups. */
export function readNames(section: Cursor | undefined, groups: ReadonlySet<string>): Denied {
  if (section === undefined) return NO_NAMES;
  return readLists(section.fields([...NAME_LISTS, 'groups']), groups);
}

type ListFields = Partial<Record<(typeof NAME_LISTS)[number] | 'groups', Cursor>>;

function readLists(fields: ListFields, groups: ReadonlySet<string>): Denied {
  const lists = NAME_LISTS.map((list) => [list, readList(fields[list], KIND_OF[list])]);
  return { ...(Object.fromEntries(lists) as Group), groups: readGroupNames(fields.groups, groups) };
}

function readList(list: Cursor | undefined, kind: BarKind): readonly string[] {
  const items = list?.items(MAX_ENTRIES) ?? [];
  return items.flatMap((item) => {
    const entry = item.text();
    if (entry === null) return [];
    const problem = refuseEntry(kind, entry);
    if (problem !== null) item.fail(`${problem}.`);
    return [entry];
  });
}

export function readGroupNames(list: Cursor | undefined, groups: ReadonlySet<string>): readonly string[] {
  const items = list?.items(MAX_GROUPS) ?? [];
  return items.map((item) => readGroupName(item, groups));
}

export function readGroupName(item: Cursor, groups: ReadonlySet<string>): string {
  const name = item.text();
  if (name !== null && !groups.has(name)) {
    item.fail(`is "${name}", which is not in "groups".`, undefined, () => suggest(name, [...groups]));
  }
  return name ?? '';
}

/** The ways from groups back to themselves, by the group where a search from the first finds them. */
function findCircles(groups: Readonly<Record<string, Group>>): ReadonlyMap<string, readonly string[]> {
  const circles = new Map<string, readonly string[]>();
  const done = new Set<string>();
  const places = new Map<string, number>();
  const way: string[] = [];
  const follow = (name: string) => {
    const place = places.get(name);
    if (place !== undefined) circles.getOrInsertComputed(name, () => [...way.slice(place), name]);
    if (place !== undefined || done.has(name)) return;
    places.set(name, way.length);
    way.push(name);
    for (const inner of groups[name]?.groups ?? []) follow(inner);
    way.pop();
    places.delete(name);
    done.add(name);
  };
  for (const name of Object.keys(groups)) follow(name);
  return circles;
}
