import { suggest } from '@berth/protocol/suggest';
import type { BarKind } from '../../core/nouns/bar.ts';
import { type Denied, type Group, NAME_LISTS, NO_NAMES } from '../../core/rules/rule-set.ts';
import type { Cursor } from './cursor.ts';
import { refuseEntry } from './refuse-entry.ts';

/** Far more than anyone writes by hand; names with a star are tried one by one for each request. */
const MAX_ENTRIES = 10_000;

/** Each request is compared with every group. */
const MAX_GROUPS = 1000;

const GROUP_NAME = /^[A-Za-z0-9._-]{1,64}$/;

const KIND_OF: Readonly<Record<(typeof NAME_LISTS)[number], BarKind>> = {
  users: 'user',
  hosts: 'host',
  addresses: 'address',
};

export function readGroups(section: Cursor | undefined): Readonly<Record<string, Group>> {
  const entries = section?.entries() ?? [];
  if (entries.length > MAX_GROUPS)
    section?.fail(`has ${entries.length} groups; at most ${MAX_GROUPS} are allowed.`);
  const names = entries.map(([name]) => name);
  for (const [name, group] of entries) {
    if (!GROUP_NAME.test(name)) {
      group.fail(
        'is no name of a group. Use up to 64 letters, digits, dots, dashes and underscores.',
        group.at,
      );
    }
  }
  const groups = Object.fromEntries(entries.map(([name, group]) => [name, readNames(group, names)]));
  for (const [name, group] of entries) {
    const circle = findCircle(groups, name);
    if (circle !== null) group.fail(`contains itself: ${circle.join(' → ')}. Remove one of these.`, group.at);
  }
  return groups;
}

/** Lists of users, hosts, addresses and groups: a group, or those whom `deny` refuses. */
export function readNames(section: Cursor | undefined, groups: readonly string[]): Denied {
  if (section === undefined) return NO_NAMES;
  const fields = section.fields([...NAME_LISTS, 'groups']);
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

export function readGroupNames(list: Cursor | undefined, groups: readonly string[]): readonly string[] {
  const items = list?.items(MAX_GROUPS) ?? [];
  return items.map((item) => readGroupName(item, groups));
}

export function readGroupName(item: Cursor, groups: readonly string[]): string {
  const name = item.text();
  if (name !== null && !groups.includes(name)) {
    item.fail(`is "${name}", which is not in "groups".`, undefined, () => suggest(name, groups));
  }
  return name ?? '';
}

/** The way from a group back to itself; `null`: there is none. */
function findCircle(groups: Readonly<Record<string, Group>>, start: string): readonly string[] | null {
  const before = new Map<string, string>();
  const found = [start];
  for (const outer of found) {
    for (const inner of groups[outer]?.groups ?? []) {
      if (inner === start) return [...wayTo(before, outer), start];
      if (before.has(inner)) continue;
      before.set(inner, outer);
      found.push(inner);
    }
  }
  return null;
}

function wayTo(before: ReadonlyMap<string, string>, last: string): readonly string[] {
  const way = [last];
  for (let one = before.get(last); one !== undefined; one = before.get(one)) way.unshift(one);
  return way;
}
