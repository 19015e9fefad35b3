/**
 * A code for copying by hand. It has the same bytes as the base64 code, in Crockford's base32: upper and
 * lower case are the same, and I, L, O and U, which are easily confused, do not occur. A line has 24 symbols
 * and a check symbol, in groups of five. The check includes the line number, so it detects every wrong
 * symbol, any two swapped symbols, and lines in the wrong order, and locates the mistake.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LINE_SYMBOLS = 25;
const GROUP_SYMBOLS = 5;
const SYMBOL_BITS = 5;

/** Grouping does not matter: blanks, line breaks and dashes are ignored. */
const SEPARATORS = /[\s\u002d\u2010-\u2015\u2212]+/g;

/** Only base64 has these: every code ends with "=" there. */
const BASE64_ONLY = /[+/=]/;

/** The code in lines of groups. */
export function groupCode(code: string): string {
  return splitLines(codeSymbols(code), LINE_SYMBOLS)
    .map((line) => splitLines(line, GROUP_SYMBOLS).join(' '))
    .join('\n');
}

/** The same without groups and lines, for machines. */
export function codeSymbols(code: string): string {
  const lines = splitLines(toSymbols(bytesOf(code)), LINE_SYMBOLS - 1);
  return lines.map((line, index) => line + checkOf(line, index + 1)).join('');
}

/** Without `Buffer`, as browsers read codes, too. */
function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function splitLines(text: string, length: number): readonly string[] {
  const count = Math.ceil(text.length / length);
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length));
}

/** Bits from the left; the last symbol is filled up with zeros. */
function toSymbols(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  return splitLines(bits, SYMBOL_BITS)
    .map((part) => ALPHABET[Number.parseInt(part.padEnd(SYMBOL_BITS, '0'), 2)])
    .join('');
}

/** `null` if the padding bits of the last symbol are not zero. */
function toBytes(symbols: string): Uint8Array | null {
  const bits = Array.from(symbols, (symbol) =>
    ALPHABET.indexOf(symbol).toString(2).padStart(SYMBOL_BITS, '0'),
  ).join('');
  const length = bits.length - (bits.length % 8);
  if (bits.slice(length).includes('1')) return null;
  return Uint8Array.from(splitLines(bits.slice(0, length), 8), (part) => Number.parseInt(part, 2));
}

/**
 * A weighted sum over the field of 32 elements: a single wrong symbol changes it, and so does swapping two.
 */
function checkOf(line: string, lineNumber: number): string {
  const sum = Array.from(line, (symbol) => ALPHABET.indexOf(symbol)).reduce(
    (before, value) => timesX(before ^ value),
    timesX(lineNumber),
  );
  return ALPHABET[sum] as string;
}

/** Times x, modulo x^5 + x^2 + 1: its powers go through all 31 elements that are not zero. */
function timesX(value: number): number {
  const shifted = value << 1;
  return shifted > 31 ? shifted ^ 0b100101 : shifted;
}

type TypedCode = { readonly code: string } | { readonly fault: string };

/**
 * Parses a typed code of the given length, as base64 or in groups. A mistake in groups is reported with its
 * line. Base64 has no check symbols: mistakes are left to the signature.
 */
export function readTypedCode(text: string, bytes: number): TypedCode {
  const compact = text.replace(SEPARATORS, '');
  if (BASE64_ONLY.test(compact) || isMixed(compact, bytes)) return { code: compact };
  const fault = findFault(text, bytes);
  if (fault !== null) return { fault };
  const lines = splitLines(unify(compact), LINE_SYMBOLS);
  const decoded = toBytes(lines.map((line) => line.slice(0, -1)).join(''));
  if (decoded === null) return { fault: mistakeIn(lines.length) };
  return { code: base64Of(decoded) };
}

/** Mixed case and too short: truncated base64. */
function isMixed(compact: string, bytes: number): boolean {
  return compact.length !== countSymbols(bytes) && /[a-z]/.test(compact) && /[A-Z]/.test(compact);
}

/** Letters that look like digits count as those digits. */
function unify(compact: string): string {
  return compact.toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
}

/** How many symbols a code of this length has, including its check symbols. */
function countSymbols(bytes: number): number {
  const symbols = Math.ceil((bytes * 8) / SYMBOL_BITS);
  return symbols + Math.ceil(symbols / (LINE_SYMBOLS - 1));
}

/** Explains what is wrong and in which line; `null` if nothing. */
function findFault(text: string, bytes: number): string | null {
  const lengths = splitLines('.'.repeat(countSymbols(bytes)), LINE_SYMBOLS).map(({ length }) => length);
  const typed = text.split('\n').map((line) => unify(line.replace(SEPARATORS, '')));
  const lines = typed.filter((line) => line !== '');
  const isAsPrinted = lines.length === lengths.length;
  const read = isAsPrinted ? lines : splitLines(lines.join(''), LINE_SYMBOLS);
  const foreign = findForeign(read);
  if (foreign !== null) return foreign;
  const other = read.findIndex((line, index) => isAsPrinted && line.length !== lengths[index]);
  if (other >= 0)
    return `Line ${other + 1} has ${read[other]?.length} characters instead of ${lengths[other]}.`;
  const wrong = read.findIndex((line, index) => checkOf(line.slice(0, -1), index + 1) !== line.at(-1)) + 1;
  const [length, wanted] = [read.join('').length, countSymbols(bytes)];
  if (length === wanted) return wrong === 0 ? null : mistakeIn(wrong);
  const where = wrong > 1 && wrong < read.length ? ` The first mistake is in line ${wrong}.` : '';
  return `It has ${length} characters instead of ${wanted}.${where}`;
}

function findForeign(lines: readonly string[]): string | null {
  for (const [index, line] of lines.entries()) {
    const foreign = Array.from(line).find((symbol) => !ALPHABET.includes(symbol));
    if (foreign !== undefined) return `Line ${index + 1} has a "${foreign}", which no code contains.`;
  }
  return null;
}

function mistakeIn(line: number): string {
  return `There is a mistake in line ${line}.`;
}

/** Whether the code is complete, for readers line by line. */
export function isWholeCode(text: string, bytes: number): boolean {
  const compact = text.replace(SEPARATORS, '');
  return compact.includes('=') || compact.length >= countSymbols(bytes);
}

const HARDWARE_ID = /^[0-9a-f]{64}$/;
const HARDWARE_ID_BYTES = 32;

function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from(splitLines(hex, 2), (pair) => Number.parseInt(pair, 16));
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A hardware id in groups; `null` for one from the settings, which must be copied as it is. */
export function groupHardwareId(id: string): string | null {
  return HARDWARE_ID.test(id) ? groupCode(base64Of(bytesOfHex(id))) : null;
}

const GRANT_KEY = /^[A-Za-z0-9_-]{43}$/;
const GRANT_KEY_BYTES = 32;

/** A public key, which a JWK has in base64url, in groups. */
export function groupGrantKey(x: string): string {
  return groupCode(x.replaceAll('-', '+').replaceAll('_', '/'));
}

/** The reverse. Also accepts the key as it is, where a dash is part of it and both cases occur. */
export function readGrantKey(text: string): string | { readonly fault: string } {
  const trimmed = text.trim();
  if (GRANT_KEY.test(trimmed)) return trimmed;
  if (/[a-z]/.test(trimmed) && /[A-Z]/.test(trimmed)) {
    return { fault: 'A key has 43 letters, digits, "-" and "_".' };
  }
  const read = readTypedCode(text, GRANT_KEY_BYTES);
  if ('fault' in read) return read;
  return read.code.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** No id from the settings looks like this, so it was copied in groups. */
const TELLING_GROUPS = 8;

/** The reverse. Text that is not in groups is an id as it is. */
export function readHardwareId(text: string): string | { readonly fault: string } {
  const groups = text.split(SEPARATORS);
  const isGrouped = groups.filter(({ length }) => length === GROUP_SYMBOLS).length >= TELLING_GROUPS;
  if (!isGrouped && groups.join('').length !== countSymbols(HARDWARE_ID_BYTES)) return text;
  const read = readTypedCode(text, HARDWARE_ID_BYTES);
  if ('code' in read) return hexOf(bytesOf(read.code));
  return isGrouped ? read : text;
}
