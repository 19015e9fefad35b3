import { quote } from '@berth/protocol/quote';
import type { ProductLimit, Role } from './role.ts';

/** Which groups of a company give which role. The role `user` is for applications. */
export interface GroupRoles {
  readonly admins: readonly string[];
  readonly operators: readonly string[];
  /** Groups for single products, each as PRODUCT=GROUP. */
  readonly productOperators: readonly string[];
  readonly viewers: readonly string[];
}

interface Standing {
  readonly role: Role;
  readonly products: ProductLimit;
}

/**
 * The highest role that one of the groups gives; `null`: none does. An operator of all products is above one
 * of some, who has the products of all of their groups, and is above a viewer.
 */
export function roleOfGroups(
  groups: readonly string[],
  { admins, operators, productOperators, viewers }: GroupRoles,
): Standing | null {
  const all = new Set(groups);
  const isIn = (some: readonly string[]) => some.some((group) => all.has(group));
  if (isIn(admins)) return { role: 'admin', products: null };
  if (isIn(operators)) return { role: 'operator', products: null };
  const own = productOperators.map(splitEntry).filter(([, group]) => all.has(group));
  if (own.length > 0) return { role: 'operator', products: [...new Set(own.map(([product]) => product))] };
  return isIn(viewers) ? { role: 'viewer', products: null } : null;
}

/** At the first "=": names in a directory contain more. */
function splitEntry(entry: string): readonly [product: string, group: string] {
  const at = entry.indexOf('=');
  return [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
}

/** The same for groups of a directory: with names that are equal if they mean the same. */
export function normalizeGroups({ admins, operators, productOperators, viewers }: GroupRoles): GroupRoles {
  return {
    admins: admins.map(normalizeDn),
    operators: operators.map(normalizeDn),
    productOperators: productOperators.map(splitEntry).map(([of, group]) => `${of}=${normalizeDn(group)}`),
    viewers: viewers.map(normalizeDn),
  };
}

/** How many groups a refusal names: enough to see what they look like. */
const SHOWN_GROUPS = 5;

/** `section`: of the settings that give roles. */
export function sayNoRole(name: string, groups: readonly string[], section: string): string {
  const more = groups.length > SHOWN_GROUPS ? ` and ${groups.length - SHOWN_GROUPS} more` : '';
  const shown = groups.length === 0 ? 'none' : groups.slice(0, SHOWN_GROUPS).map(quote).join(', ') + more;
  return (
    `${quote(name)} has no role here. Their groups are: ${shown}. An administrator can add one of them to ` +
    `the setting "${section}.admins", "${section}.operators", "${section}.productOperators" or ` +
    `"${section}.viewers".`
  );
}

/**
 * A name in a directory (RFC 4514), in a form that is equal for equal names. Letter case means nothing, nor
 * do blanks around its parts, the number of blanks within one, and the way in which a character is escaped.
 */
export function normalizeDn(name: string): string {
  // Each is a character, or one with a backslash, which separates nothing.
  const signs = decodeEscapes(name).toLowerCase().match(/\\?./gsu) ?? [];
  const normalizePart = (part: readonly string[]) => split(part, '+').map(normalizeValue).sort().join('+');
  return split(signs, ',').map(normalizePart).join(',');
}

/** Leaves a backslash only where it matters, and before bytes that are no text. */
function decodeEscapes(name: string): string {
  let text = '';
  let bytes = '';
  for (const sign of name.match(/\\[\da-f]{2}|\\?./gisu) ?? []) {
    if (/^\\[\da-f]{2}$/i.test(sign)) {
      bytes += sign;
      continue;
    }
    text += decodeBytes(bytes) + (/^\\./su.test(sign) ? protect(sign.slice(1)) : sign);
    bytes = '';
  }
  return text + decodeBytes(bytes);
}

/** A character may have several bytes. */
function decodeBytes(escaped: string): string {
  try {
    return protect(decodeURIComponent(escaped.replaceAll('\\', '%')));
  } catch {
    return escaped;
  }
}

function protect(text: string): string {
  return text.replace(/[\\,+ ]/g, '\\$&');
}

/** Only the first "=" separates: a value may contain more. */
function normalizeValue(signs: readonly string[]): string {
  const at = signs.indexOf('=') + 1;
  const type = trim(signs.slice(0, Math.max(0, at - 1)));
  return `${type.join('')}=${collapse(trim(signs.slice(at)))}`;
}

function trim(signs: readonly string[]): readonly string[] {
  const isSign = (sign: string) => sign !== ' ';
  return signs.slice(signs.findIndex(isSign), signs.findLastIndex(isSign) + 1);
}

function collapse(signs: readonly string[]): string {
  const plain = signs.map((sign) => (sign === '\\ ' ? ' ' : sign));
  return plain.filter((sign, n) => sign !== ' ' || plain[n - 1] !== ' ').join('');
}

function split(signs: readonly string[], separator: string): readonly (readonly string[])[] {
  const parts: string[][] = [[]];
  for (const sign of signs) {
    if (sign === separator) parts.push([]);
    else parts.at(-1)?.push(sign);
  }
  return parts;
}
