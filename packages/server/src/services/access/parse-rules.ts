import { parseRange } from '@berth/protocol/address-range';
import { suggest } from '@berth/protocol/console/suggest';
import { DENY_LISTS, type DenyList, NO_RULES, orNoRules, type Rules } from '../../core/rules/rules.ts';
import { parseYaml } from '../../parse-yaml.ts';

/** Rules that cannot be used; the message says what is wrong, and where. */
export class RulesError extends Error {}

/** Far more than anybody writes by hand; names with a star are tried one by one, for each request. */
const MAX_ENTRIES = 10_000;

/** As long as the names that it is compared with. */
const MAX_ENTRY_LENGTH = 256;

/**
 * What a rules file says. Every word in it is a text, so a user "007" or "no" needs no quotes. A name that is
 * unknown is an error: whoever is not barred because of a typo would never be noticed.
 */
export function parseRules(text: string): Rules {
  if (text.trim() === '') {
    throw new RulesError('it is empty; to bar nobody, write "deny: {}" or remove it.');
  }
  const { deny } = readSection(readYaml(text), '', ['deny']);
  const lists = readSection(deny, 'deny', DENY_LISTS);
  const users = readList(lists.users, 'deny.users', refuseName);
  const hosts = readList(lists.hosts, 'deny.hosts', refuseName);
  const addresses = readList(lists.addresses, 'deny.addresses', refuseAddress);
  return orNoRules({ ...NO_RULES, deny: { users, hosts, addresses } satisfies DenyList });
}

function readYaml(text: string): unknown {
  try {
    return parseYaml(text, { schema: 'failsafe', logLevel: 'error' });
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    const hint = /alias/i.test(line) ? ' Put a name that begins with "*" in quotes.' : '';
    throw new RulesError(`it is not valid YAML: ${line.replace(/[.:]?$/, '.')}${hint}`);
  }
}

/** A section in which everything is commented out is empty. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function readSection(value: unknown, place: string, known: readonly string[]): Record<string, unknown> {
  if (isEmpty(value)) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    const where = place === '' ? 'it' : `"${place}"`;
    throw new RulesError(`${where} must hold ${known.map((name) => `"${name}"`).join(', ')}.`);
  }
  const unknown = Object.keys(value as object).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  const full = place === '' ? unknown : `${place}.${unknown}`;
  throw new RulesError(`"${full}" is unknown.${suggest(unknown, known)}`);
}

function readList(
  value: unknown,
  place: string,
  refuse: (entry: string) => string | null,
): readonly string[] {
  if (isEmpty(value)) return [];
  if (!Array.isArray(value)) throw new RulesError(`"${place}" must be a list.`);
  if (value.length > MAX_ENTRIES) {
    throw new RulesError(`"${place}" has ${value.length} entries; at most ${MAX_ENTRIES} are possible.`);
  }
  return value.map((entry, index) => {
    const problem = typeof entry === 'string' ? refuse(entry) : 'must be text';
    if (problem !== null) throw new RulesError(`"${place}[${index}]" ${problem}.`);
    return entry as string;
  });
}

function refuseName(entry: string): string | null {
  if (entry.trim() === '') return 'is empty';
  if (entry.length > MAX_ENTRY_LENGTH) return `is longer than ${MAX_ENTRY_LENGTH} characters`;
  return /\p{Cc}/u.test(entry) ? 'holds a control character' : null;
}

function refuseAddress(entry: string): string | null {
  if (parseRange(entry) !== null) return null;
  return `is "${entry.slice(0, MAX_ENTRY_LENGTH)}", which is no address and no range such as 10.0.0.0/8`;
}
