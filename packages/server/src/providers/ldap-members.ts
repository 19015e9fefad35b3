import type { Instant } from '../core/nouns/instant.ts';
import type { GroupAnswer } from '../core/rules/directory-groups.ts';
import { ACCOUNT_ATTRIBUTES, findAbsence, type LdapEntry } from './ldap-account.ts';
import { ProviderFault } from './sign-in-provider.ts';

/** Reads one entry; `null`: there is none. */
type ReadEntry = (dn: string, attributes: readonly string[]) => Promise<LdapEntry | null>;

/** Lists of names in the directory, and of login names (`posixGroup`). */
const MEMBER_LISTS = ['member', 'uniqueMember'] as const;
const LOGIN_NAMES = 'memberUid';

/** What has one of these classes is no person, even if it is empty. */
const GROUP_CLASSES = new Set([
  'group',
  'groupofmembers',
  'groupofnames',
  'groupofuniquenames',
  'posixgroup',
]);

/** As many as a list in the text of the rules may have. */
export const MAX_MEMBERS = 10_000;

/** Of all groups together, also those within groups. All are stored with every revision of the rules. */
const MAX_TOTAL = 50_000;

/** Entries that are read at the same time, on one connection. */
const AT_ONCE = 20;

/**
 * Who is in each group, by the attribute with their names. Members of groups within it are members, too, and
 * accounts that are disabled or have expired are none.
 * Whatever is in doubt keeps a whole group from being answered: half of it would look like the rest had left.
 */
export async function listMembers(
  read: ReadEntry,
  groups: readonly string[],
  nameAttribute: string,
  now: Instant,
): Promise<readonly GroupAnswer[]> {
  const answers: GroupAnswer[] = [];
  const pass = { name: nameAttribute, now, members: MAX_TOTAL };
  for (const dn of groups) answers.push(await answer(read, dn, pass));
  return answers;
}

interface Pass {
  readonly name: string;
  readonly now: Instant;
  /** How many members may still come. */
  members: number;
}

async function answer(read: ReadEntry, dn: string, pass: Pass): Promise<GroupAnswer> {
  try {
    return { dn, members: await collect(read, dn, pass) };
  } catch (error) {
    if (error instanceof ProviderFault) return { dn, problem: error.message };
    throw error;
  }
}

/** Goes through the group and the groups within it, each entry once. */
async function collect(read: ReadEntry, dn: string, budget: Pass) {
  const { name, now } = budget;
  const attributes = ['objectClass', name, ...MEMBER_LISTS, LOGIN_NAMES, ...ACCOUNT_ATTRIBUTES];
  const group = await read(dn, attributes);
  if (group === null) throw refused('The directory has no group with this name, or does not show it.');
  const names = new Set<string>(await valuesOf(read, dn, group, LOGIN_NAMES));
  const first = await innerOf(read, dn, group);
  if (!isGroup(group) && names.size + first.length === 0) throw refused('It is no group.');
  spend(budget, 0, names.size);
  const seen = new Set([dn.toLowerCase()]);
  let found = 0;
  for (let next = first; next.length > 0; ) {
    const fresh = next.filter((one) => seen.size < seen.add(one.toLowerCase()).size);
    spend(budget, names.size, fresh.length);
    const inner: string[] = [];
    for (let start = 0; start < fresh.length; start += AT_ONCE) {
      const some = fresh.slice(start, start + AT_ONCE);
      const entries = await Promise.all(some.map((one) => read(one, attributes)));
      for (const [index, entry] of entries.entries()) {
        if (entry === null) continue;
        inner.push(...(await innerOf(read, some[index] as string, entry)));
        const logins = await valuesOf(read, some[index] as string, entry, LOGIN_NAMES);
        const own = isGroup(entry) ? logins : (entry[name.toLowerCase()] ?? []);
        if (isGroup(entry)) spend(budget, names.size, own.length);
        if (isGroup(entry) || own.length > 0) found++;
        if (findAbsence(entry, now) === null) for (const one of own) names.add(one);
      }
    }
    // People who have left may still be listed. But an account that may not read people sees none of them.
    if (found === 0 && fresh.length > 0)
      throw refused(`The directory shows "${name}" of none of its members.`);
    next = inner;
  }
  requireFew(names.size);
  return [...names];
}

function isGroup({ objectclass = [] }: LdapEntry): boolean {
  return objectclass.some((one) => GROUP_CLASSES.has(one.toLowerCase()));
}

/** A group that is too large leaves the others what they need. */
function spend(budget: Pass, before: number, more: number): void {
  requireFew(before + more);
  budget.members -= more;
  if (budget.members < 0) throw refused(`All groups together have more than ${MAX_TOTAL} members.`);
}

function requireFew(members: number): void {
  if (members > MAX_MEMBERS) throw refused(`It has more than ${MAX_MEMBERS} members.`);
}

async function innerOf(read: ReadEntry, dn: string, entry: LdapEntry): Promise<readonly string[]> {
  const lists: (readonly string[])[] = [];
  for (const list of MEMBER_LISTS) lists.push(await valuesOf(read, dn, entry, list));
  // Groups that must not be empty are given an empty name.
  return lists.flat().filter((one) => one !== '');
}

/** Active Directory sends long lists in parts: `member;range=0-1499`, and the last one with a `*`. */
async function valuesOf(read: ReadEntry, dn: string, entry: LdapEntry, attribute: string) {
  const values = [...(entry[attribute.toLowerCase()] ?? [])];
  requireFew(values.length);
  for (let part = findPart(entry, attribute); part !== null; ) {
    values.push(...part.values);
    requireFew(values.length);
    if (part.end === '*') break;
    const rest = await read(dn, [`${attribute};range=${Number(part.end) + 1}-*`]);
    const next = rest === null ? null : findPart(rest, attribute);
    if (next === null) throw refused('The directory sent only a part of it.');
    part = next;
  }
  return values;
}

function findPart(entry: LdapEntry, attribute: string) {
  const start = `${attribute.toLowerCase()};range=`;
  for (const [name, values] of Object.entries(entry)) {
    // The library adds an empty list for each name that was asked for and not sent.
    if (values.length === 0) continue;
    const [, end] = (name.startsWith(start) && /-(\d+|\*)$/.exec(name)) || [];
    if (end !== undefined) return { end, values };
  }
  return null;
}

function refused(message: string): ProviderFault {
  return new ProviderFault('refused', message);
}
