import { ROLES } from '@berth/protocol/admin/choices';

/**
 * What an account or a token may do. A user is an application that asks for slots. A viewer sees everything
 * and changes nothing, an operator also takes slots back, an administrator changes the server.
 */
export type Role = (typeof ROLES)[number];

/** The products that an operator is limited to; `null`: to none, so that all are theirs. */
export type ProductLimit = readonly string[] | null;

export function isSameLimit(one: ProductLimit, other: ProductLimit): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** As an event records it: only if there is one. */
export function limitOf(products: ProductLimit): { readonly products?: readonly string[] } {
  return products === null ? {} : { products };
}

/** The roles that a role includes. Whoever may only look asks for no slots either. */
const INCLUDED: Readonly<Record<Role, readonly Role[]>> = {
  user: ['user'],
  viewer: ['viewer'],
  operator: ['user', 'viewer', 'operator'],
  admin: ROLES,
};

/** `null`: every role will do. */
export function includesRole(role: Role, needed: Role | null): boolean {
  return needed === null || INCLUDED[role].includes(needed);
}
