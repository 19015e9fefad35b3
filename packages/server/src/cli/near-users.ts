import { didYouMean } from '@berth/protocol/suggest';
import type { AdminClient } from './admin-client.ts';

const MOST_SHOWN = 5;
const MOST_READ = 100;

/**
 * "No exact match …", with the users who have this part in their names; empty if a user has exactly this
 * name, or none has the part. Looks at those who hold a slot, and at the history.
 */
export async function suggestUsers(client: AdminClient, name: string): Promise<string> {
  const users = await listUsers(client, name);
  if (users.length === 0 || users.includes(name)) return '';
  return `No exact match for "${name}".${didYouMean(users.slice(0, MOST_SHOWN))}`;
}

async function listUsers(client: AdminClient, part: string): Promise<readonly string[]> {
  const query = { search: part, limit: MOST_READ };
  const slots = await client.get('/api/admin/registrations', query);
  const history = await client.get('/api/admin/history/users', query);
  const names = [
    ...(slots.ok ? slots.body.registrations.map(({ user }) => user) : []),
    ...(history.ok ? history.body.users.map(({ user }) => user ?? '') : []),
  ];
  return [...new Set(names.filter((user) => hasPart(user, part)))];
}

/** Ignores case. */
export function hasPart(name: string, part: string): boolean {
  return name.toLowerCase().includes(part.toLowerCase());
}

/** The start of a sentence about a list that is empty; `part`: what was looked for in the names. */
export function nobody(part: string | undefined): string {
  return part === undefined ? 'Nobody' : `Nobody with "${part}" in the name`;
}
