import { isIP, isIPv4 } from 'node:net';

type Kind = 'user' | 'host' | 'address' | 'name';

/** The fields whose whole value is a name. Settings have their last word as a field. */
const FIELDS: Readonly<Record<string, Kind>> = {
  user: 'user',
  account: 'user',
  by: 'user',
  username: 'user',
  name: 'name',
  token_id: 'name',
  channel: 'name',
  hostname: 'host',
  os_hostname: 'host',
  host: 'host',
  subject: 'host',
  allowedHosts: 'host',
  origin: 'address',
  address: 'address',
  ip_local: 'address',
  // Of bars: they name people and machines, and say what those have done.
  pattern: 'name',
  note: 'name',
};

/** Fields with words of ours; a name in them is a coincidence. */
const OWN_WORDS = new Set(['kind', 'at', 'time', 'level', 'code', 'severity', 'check', 'role', 'route']);

/** Names that every server has, and addresses that every machine has. */
const COMMON = new Set([
  'admin',
  'client',
  'cloud',
  'control',
  'demo',
  'local',
  'localhost',
  'root',
  'server',
  'system',
  '127.0.0.1',
  '::1',
  '0.0.0.0',
  '::',
]);

/** `by` names the credentials of a caller. */
const SIGNED_IN = /^(token|certificate) /;

/**
 * Replaces the names of users, hosts and addresses, the same name always by the same word. All names have to
 * be learned first: they may be anywhere in a text.
 */
export class Pseudonyms {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<Kind, number>();

  /** Finds the names in a value and in all that it holds. */
  learn(value: unknown, field = ''): void {
    if (Array.isArray(value)) {
      for (const item of value) this.learn(item, field);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) this.learn(item, lastWordOf(name));
    } else if (typeof value === 'string') this.#learnText(value, field);
  }

  /** A name from elsewhere. */
  know(kind: Kind, name: string): string {
    if (name === '' || COMMON.has(name)) return name;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    const pseudonym = `${kind}_${count}`;
    this.#known.set(name, pseudonym);
    return pseudonym;
  }

  /** The value without the names. */
  hide(value: unknown, field = ''): unknown {
    if (typeof value === 'string') {
      return OWN_WORDS.has(field) ? value : (this.#known.get(value) ?? this.hideIn(value));
    }
    if (Array.isArray(value)) return value.map((item) => this.hide(item, field));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, item]) => [name, this.hide(item, lastWordOf(name))]));
  }

  /** The text without the names. */
  hideIn(text: string): string {
    let hidden = this.#hidePlaces(text);
    // The longest first: a name may be part of another.
    const names = [...this.#known.keys()].filter((name) => name.length > 1 && hidden.includes(name));
    for (const name of names.sort((a, b) => b.length - a.length)) hidden = this.#replace(hidden, name);
    return hidden;
  }

  /** What is known by its form: hosts of URLs, electronic mail, home folders and addresses. */
  #hidePlaces(text: string): string {
    return text
      .replace(WORD, (word) => this.#hideHost(word))
      .replace(HOME, (_, before: string, name: string) => before + this.know('user', name))
      .replace(NUMBERS, (word) => this.#hideNumbers(word));
  }

  #learnText(text: string, field: string): void {
    this.#hidePlaces(text);
    const kind = FIELDS[field];
    if (kind === undefined) return;
    if (field === 'subject')
      for (const part of text.split(', ')) this.know('host', part.replace(/^\w+=/, ''));
    else this.know(isIP(text) === 0 ? kind : 'address', text.replace(SIGNED_IN, ''));
  }

  /** A URL, or an address of electronic mail. */
  #hideHost(word: string): string {
    const start = word.indexOf('://');
    if (start === -1) return word.indexOf('@') > 0 ? this.know('user', word) : word;
    const end = word.slice(start + 3).search(/[/?#]/);
    const authority = end === -1 ? word.slice(start + 3) : word.slice(start + 3, start + 3 + end);
    const place = authority.slice(authority.lastIndexOf('@') + 1);
    const host = place.replace(/:\d+$/, '');
    // Addresses follow.
    if (host === '' || isIP(host.replace(/^\[|\]$/g, '')) !== 0) return word;
    return word.replace(place, place.replace(host, this.know('host', host)));
  }

  #hideNumbers(word: string): string {
    const bare = word.replace(/[.:]$/, '');
    if (isIP(bare) !== 0) return this.know('address', bare) + word.slice(bare.length);
    const [address = '', ...rest] = word.split(':');
    return isIPv4(address) ? [this.know('address', address), ...rest].join(':') : word;
  }

  /** Where it stands as a word of its own. */
  #replace(text: string, name: string): string {
    const [first = '', ...rest] = text.split(name);
    let replaced = first;
    for (const part of rest) {
      const isPart = ENDS_IN_WORD.test(replaced) || BEGINS_WORD.test(part);
      replaced += (isPart ? name : this.#known.get(name)) + part;
    }
    return replaced;
  }
}

const WORD = /[^\s"'<>(),;]+/g;
const NUMBERS = /[\da-fA-F:.]+/g;
const HOME = /((?:\/home|\/Users|\\Users)[/\\])([^/\\\s"']+)/g;
const ENDS_IN_WORD = /[\p{L}\p{N}_]$/u;
const BEGINS_WORD = /^[\p{L}\p{N}_]/u;

/** Of `http.allowedHosts`, that is `allowedHosts`. */
function lastWordOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
