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
export type Known = { readonly group: string } | Listed;

/** Why that cannot be said here, and what to do about it. */
export interface Unclear {
  readonly problem: string;
  readonly advice: string;
}

export function describeWho(who: Known): string {
  if ('group' in who) return `group "${who.group}"`;
  if (who.entry === '*') return who.list === 'users' ? 'everybody' : 'every host';
  const { list, entry } = who;
  if (entry.includes('*')) return `all ${list} like "${entry}"`;
  return entry.includes('/') ? `the addresses ${entry}` : `${NAMED[list]} "${entry}"`;
}

const NAMED: Readonly<Record<NameKind, string>> = { users: 'user', hosts: 'host', addresses: 'address' };

/** A report is to be read. */
export function listSome(names: readonly (string | number)[]): string {
  const rest = names.length - MOST_NAMES;
  return rest > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${rest} more` : names.join(', ');
}

const MOST_NAMES = 10;

export function readUser(name: string): Listed | Unclear {
  return checked({ list: 'users', entry: name });
}

/** A host may be given by its address. */
export function readHost(name: string): Listed | Unclear {
  const isAddress = name.includes(':') || /^[\d*]+(\.[\d*]+)+$/.test(name);
  return isAddress ? readInternet(name) : checked({ list: 'hosts', entry: name });
}

/** `10.1.*.*` is a range. A star elsewhere has no equivalent. */
export function readInternet(name: string): Listed | Unclear {
  if (parseRange(name) !== null) return { list: 'addresses', entry: name };
  const parts = name.split('.');
  const fixed = parts.filter((part) => part !== '*');
  const isTail = parts.slice(fixed.length).every((part) => part === '*');
  const range = `${[...fixed, '0', '0', '0', '0'].slice(0, 4).join('.')}/${fixed.length * 8}`;
  const isRange = name.includes('*') && parts.length <= 4 && isTail && parseRange(range) !== null;
  if (isRange) return { list: 'addresses', entry: range };
  return {
    problem: `"${name}" is no address or range that Berth can read.`,
    advice: `Write "${name}" as one or several ranges such as 10.1.0.0/16 or 2001:db8::/32, by hand.`,
  };
}

function checked(listed: Listed): Listed | Unclear {
  const problem = refuseEntry(listed.list === 'users' ? 'user' : 'host', listed.entry);
  if (problem === null) return listed;
  return { problem: `"${listed.entry}" ${problem}.`, advice: 'Write another name by hand.' };
}
