import { parseRange } from '@berth/protocol/address-range';
import { suggest } from '@berth/protocol/suggest';
import type { BarKind } from '../../core/nouns/bar.ts';
import { DENY_LISTS, type DenyList, NO_RULES, orNoRules, type Rules } from '../../core/rules/rules.ts';
import { parseYaml } from '../../parse-yaml.ts';

/** Invalid rules; the message says what is wrong and where. */
export class RulesError extends Error {}

/** Far more than anyone writes by hand; names with a star are tried one by one for each request. */
const MAX_ENTRIES = 10_000;

/** The maximum length of the names it is compared with. */
const MAX_ENTRY_LENGTH = 256;

/**
 * Parses a rules file. Every value is text, so a user "007" or "no" needs no quotes. An unknown name is an
 * error, because a typo would silently bar nobody.
 */
export function parseRules(text: string): Rules {
  if (text.trim() === '') {
    throw new RulesError('it is empty. To bar nobody, write "deny: {}" or remove the file.');
  }
  const { deny } = readSection(readYaml(text), '', ['deny']);
  const lists = readSection(deny, 'deny', DENY_LISTS);
  const users = readList(lists.users, 'deny.users', 'user');
  const hosts = readList(lists.hosts, 'deny.hosts', 'host');
  const addresses = readList(lists.addresses, 'deny.addresses', 'address');
  return orNoRules({ ...NO_RULES, deny: { users, hosts, addresses } satisfies DenyList });
}

function readYaml(text: string): unknown {
  try {
    return parseYaml(text, { schema: 'failsafe', logLevel: 'error' });
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    const hint = /alias/i.test(line) ? ' Quote names that begin with "*".' : '';
    throw new RulesError(`it is not valid YAML: ${line.replace(/[.:]?$/, '.')}${hint}`);
  }
}

/** A section with only comments is empty. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function readSection(value: unknown, place: string, known: readonly string[]): Record<string, unknown> {
  if (isEmpty(value)) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    const where = place === '' ? 'it' : `"${place}"`;
    throw new RulesError(`${where} must contain ${known.map((name) => `"${name}"`).join(', ')}.`);
  }
  const unknown = Object.keys(value as object).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  const full = place === '' ? unknown : `${place}.${unknown}`;
  throw new RulesError(`"${full}" is unknown.${suggest(unknown, known)}`);
}

function readList(value: unknown, place: string, kind: BarKind): readonly string[] {
  if (isEmpty(value)) return [];
  if (!Array.isArray(value)) throw new RulesError(`"${place}" must be a list.`);
  if (value.length > MAX_ENTRIES) {
    throw new RulesError(`"${place}" has ${value.length} entries; at most ${MAX_ENTRIES} are allowed.`);
  }
  return value.map((entry, index) => {
    const problem = typeof entry === 'string' ? refuseEntry(kind, entry) : 'must be text';
    if (problem !== null) throw new RulesError(`"${place}[${index}]" ${problem}.`);
    return entry as string;
  });
}

/** What is wrong with an entry or a bar; `null`: nothing. */
export function refuseEntry(kind: BarKind, entry: string): string | null {
  return kind === 'address' ? refuseAddress(entry) : refuseName(entry);
}

function refuseName(entry: string): string | null {
  if (entry.trim() === '') return 'is empty';
  if (entry.length > MAX_ENTRY_LENGTH) return `is longer than ${MAX_ENTRY_LENGTH} characters`;
  return /\p{Cc}/u.test(entry) ? 'contains a control character' : null;
}

function refuseAddress(entry: string): string | null {
  if (parseRange(entry) !== null) return null;
  return `is "${entry.slice(0, MAX_ENTRY_LENGTH)}", which is not an address or a range such as 10.0.0.0/8`;
}
