import { parseRange } from '@berth/protocol/address-range';
import { fitsPattern, foldName, type NamePattern, parsePattern } from '../nouns/name-pattern.ts';
import { indexRanges, isIndexed, type RangeIndex } from './range-index.ts';
import type { NameLists } from './rule-set.ts';

/** Lists of names, ready to be compared. */
export interface NameIndex {
  readonly users: NameList;
  readonly hosts: NameList;
  readonly ranges: RangeIndex;
}

/** Names without a star are looked up; the others are tried one by one. */
interface NameList {
  readonly exact: ReadonlySet<string>;
  readonly patterns: readonly NamePattern[];
}

/** Made once per version of the rules. */
const INDEXED = new WeakMap<NameLists, NameIndex>();

export function indexNames(lists: NameLists): NameIndex {
  const known = INDEXED.get(lists);
  if (known !== undefined) return known;
  const { users, hosts, addresses } = lists;
  const ranges = indexRanges(addresses.map(parseRange).filter((range) => range !== null));
  const index = { users: indexList(users), hosts: indexList(hosts), ranges };
  INDEXED.set(lists, index);
  return index;
}

function indexList(words: readonly string[]): NameList {
  const patterns = [...new Set(words.map((word) => word.trim()))].map(parsePattern);
  return {
    exact: new Set(patterns.filter(({ back }) => back === null).map(({ front }) => front)),
    patterns: patterns.filter(({ back }) => back !== null),
  };
}

export function countPatterns({ users, hosts }: NameIndex): number {
  return users.patterns.length + hosts.patterns.length;
}

/** Names as they are compared. */
export function foldWord(name: string): string {
  return foldName(name).trim();
}

/** `name` is folded. */
export function isListed(name: string, { exact, patterns }: NameList): boolean {
  return exact.has(name) || patterns.some((pattern) => fitsPattern(name, pattern));
}

export function isInRanges(address: string, { ranges }: NameIndex): boolean {
  return isIndexed(address, ranges);
}
