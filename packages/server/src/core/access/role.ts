import { ROLES } from '@berth/protocol/admin/choices';

/**
 * What an account or a token may do. A user asks for slots, an operator sees everything and takes slots back,
 * an administrator changes the server.
 */
export type Role = (typeof ROLES)[number];

/** A higher role includes the lower ones. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
