import { parseRange } from '@berth/protocol/address-range';
import { suggest } from '@berth/protocol/suggest';
import type { BarKind } from '../../core/nouns/bar.ts';
import { DENY_LISTS, type DenyList, NO_RULES, orNoRules, type Rules } from '../../core/rules/rules.ts';
import { findYamlLine, parseYaml } from '../../parse-yaml.ts';

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
  const document = readYaml(text);
  try {
    return orNoRules({ ...NO_RULES, deny: readDenied(document) });
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new RulesError(`in line ${findYamlLine(text, error.path, YAML)}, ${error.message}`);
  }
}

type Path = readonly (string | number)[];

/** What is wrong with a value, and the names that lead to it. */
class ValueError extends Error {
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.path = path;
  }
}

const YAML = { schema: 'failsafe', logLevel: 'error' };

function readDenied(document: unknown): DenyList {
  const { deny } = readSection(document, [], ['deny']);
  const lists = readSection(deny, ['deny'], DENY_LISTS);
  return {
    users: readList(lists.users, ['deny', 'users'], 'user'),
    hosts: readList(lists.hosts, ['deny', 'hosts'], 'host'),
    addresses: readList(lists.addresses, ['deny', 'addresses'], 'address'),
  };
}

function readYaml(text: string): unknown {
  try {
    return parseYaml(text, YAML);
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

function readSection(value: unknown, path: Path, known: readonly string[]): Record<string, unknown> {
  if (isEmpty(value)) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    const where = path.length === 0 ? 'it' : `"${path.join('.')}"`;
    throw new ValueError(path, `${where} must contain ${known.map((name) => `"${name}"`).join(', ')}.`);
  }
  const unknown = Object.keys(value as object).find((name) => !known.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  const full = [...path, unknown];
  throw new ValueError(full, `"${full.join('.')}" is unknown.${suggest(unknown, known)}`);
}

function readList(value: unknown, path: Path, kind: BarKind): readonly string[] {
  const place = path.join('.');
  if (isEmpty(value)) return [];
  if (!Array.isArray(value)) throw new ValueError(path, `"${place}" must be a list.`);
  if (value.length > MAX_ENTRIES) {
    const message = `"${place}" has ${value.length} entries; at most ${MAX_ENTRIES} are allowed.`;
    throw new ValueError(path, message);
  }
  return value.map((entry, index) => {
    const problem = typeof entry === 'string' ? refuseEntry(kind, entry) : 'must be text';
    if (problem !== null) throw new ValueError([...path, index], `"${place}[${index}]" ${problem}.`);
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
