/** How deep objects and arrays may be nested. Deeper input is refused before it is parsed. */
export const MAX_JSON_DEPTH = 32;

/** Why a text was refused: not JSON, or JSON with an invalid shape. */
export class JsonTextError extends Error {
  readonly code: 'invalid_json' | 'validation_error';

  constructor(code: 'invalid_json' | 'validation_error', message: string) {
    super(message);
    this.code = code;
  }
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Index of the quote that closes the string which opens at `start`; the text's length when none does. */
export function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) return index;
    index += code === BACKSLASH ? 2 : 1;
  }
  return text.length;
}

/**
 * Counts the keys as they are written, and refuses what is nested too deeply. One pass without recursion, so
 * that hostile nesting costs no more than its length.
 */
function countWrittenKeys(text: string): number {
  let depth = 0;
  let keys = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === COLON) keys++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > MAX_JSON_DEPTH) {
        throw new JsonTextError(
          'validation_error',
          `The JSON is nested deeper than ${MAX_JSON_DEPTH} levels.`,
        );
      }
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return keys;
}

/** Keys that would reach an object's prototype if someone copied them carelessly. */
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/** Counts the keys that survived parsing; fewer than were written means that one was written twice. */
function countParsedKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countParsedKeys(item), 0);
  const keys = Object.keys(value);
  let count = keys.length;
  for (const key of keys) {
    if (FORBIDDEN_KEYS.has(key)) {
      throw new JsonTextError('validation_error', `The key "${key}" is not allowed.`);
    }
    count += countParsedKeys((value as Record<string, unknown>)[key]);
  }
  return count;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonTextError('invalid_json', 'The body is not valid JSON. Send one JSON object.');
  }
}

/** Parses JSON strictly: bounded depth, no key twice in one object, no prototype keys. */
export function parseJsonText(text: string): unknown {
  const written = countWrittenKeys(text);
  const value = parse(text);
  if (countParsedKeys(value) !== written) {
    throw new JsonTextError('validation_error', 'The JSON has the same key twice.');
  }
  return value;
}

/**
 * Reads a request body into an object with lower-case keys: v4 clients write `product` and `Product` alike.
 * An empty body is an empty object. Two spellings of one key are refused, because either reading would be a
 * guess.
 */
export function parseJsonObject(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  const value = parseJsonText(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new JsonTextError('validation_error', 'The body must be a JSON object.');
  }
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields);
  return keys.every(isFolded) ? fields : foldKeys(fields, keys);
}

function isFolded(key: string): boolean {
  return key === key.toLowerCase();
}

function foldKeys(fields: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  const folded: Record<string, unknown> = {};
  for (const key of keys) {
    const name = key.toLowerCase();
    if (FORBIDDEN_KEYS.has(name))
      throw new JsonTextError('validation_error', `The key "${key}" is not allowed.`);
    if (Object.hasOwn(folded, name)) {
      throw new JsonTextError('validation_error', `The key "${name}" is written in two spellings.`);
    }
    folded[name] = fields[key];
  }
  return folded;
}
