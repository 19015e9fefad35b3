import { quote } from '@berth/protocol/quote';
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

/** How many groups a refusal names: enough to see what they look like. */
const SHOWN_GROUPS = 5;

/** `section`: of the settings that give roles. */
export function sayNoRole(name: string, groups: readonly string[], section: string): string {
  const more = groups.length > SHOWN_GROUPS ? ` and ${groups.length - SHOWN_GROUPS} more` : '';
  const shown = groups.length === 0 ? 'none' : groups.slice(0, SHOWN_GROUPS).map(quote).join(', ') + more;
  return (
    `${quote(name)} has no role here. Their groups are: ${shown}. An administrator can add one of them to ` +
    `the setting "${section}.admins", "${section}.operators" or "${section}.viewers".`
  );
}

/** A name in a directory, of which letter case and blanks between its parts mean nothing. */
export function normalizeDn(name: string): string {
  const trimEach = (text: string, sign: string) =>
    text
      .split(sign)
      .map((part) => part.trim())
      .join(sign);
  return trimEach(trimEach(name.toLowerCase(), '='), ',');
}
