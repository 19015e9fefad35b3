import { parseRange } from '@berth/protocol/address-range';
import type { NAME_LISTS } from '../../../core/rules/rule-set.ts';
import { refuseEntry } from '../refuse-entry.ts';

export type NameKind = (typeof NAME_LISTS)[number];

/** A name in a list of ours. */
export interface Listed {
  readonly list: NameKind;
  readonly entry: string;
}

/** Whom a line of an options file is about. */
export type Who = { readonly group: string } | Listed | { readonly problem: string };

export function readUser(name: string): Listed | { readonly problem: string } {
  return checked({ list: 'users', entry: name });
}

/** A host may be given by its address. */
export function readHost(name: string): Listed | { readonly problem: string } {
  const isAddress = name.includes(':') || /^[\d*]+(\.[\d*]+)+$/.test(name);
  return isAddress ? readInternet(name) : checked({ list: 'hosts', entry: name });
}

/** `10.1.*.*` is a range. A star elsewhere has no equivalent. */
export function readInternet(name: string): Listed | { readonly problem: string } {
  if (parseRange(name) !== null) return { list: 'addresses', entry: name };
  const parts = name.split('.');
  const fixed = parts.filter((part) => part !== '*');
  const isTail = parts.slice(fixed.length).every((part) => part === '*');
  const range = `${[...fixed, '0', '0', '0', '0'].slice(0, 4).join('.')}/${fixed.length * 8}`;
  const isRange = name.includes('*') && parts.length <= 4 && isTail && parseRange(range) !== null;
  if (isRange) return { list: 'addresses', entry: range };
  return { problem: `"${name}" is no address or range. Write ranges such as 10.1.0.0/16 by hand` };
}

function checked(listed: Listed): Listed | { readonly problem: string } {
  const problem = refuseEntry(listed.list === 'users' ? 'user' : 'host', listed.entry);
  return problem === null ? listed : { problem: `"${listed.entry}" ${problem}` };
}
