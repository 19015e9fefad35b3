import type { Role } from './role.ts';

/** Which groups of a company give which role. The role `user` is for applications. */
export interface GroupRoles {
  readonly admins: readonly string[];
  readonly operators: readonly string[];
  readonly viewers: readonly string[];
}

/** The highest role that one of the groups gives; `null`: none does. */
export function roleOfGroups(
  groups: readonly string[],
  { admins, operators, viewers }: GroupRoles,
): Role | null {
  const all = new Set(groups);
  const isIn = (some: readonly string[]) => some.some((group) => all.has(group));
  if (isIn(admins)) return 'admin';
  if (isIn(operators)) return 'operator';
  return isIn(viewers) ? 'viewer' : null;
}
