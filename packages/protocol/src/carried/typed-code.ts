import { encodeBase64 } from './canonical-base64.ts';

/**
 * A code as people copy it by hand. The same bytes as the base64 code, in Crockford's base32: no difference
 * between small and capital letters, and no I, L, O and U, which are taken for others. A line has 24 symbols
 * and then one that checks them, in groups of five. The check covers the number of its line, so it finds
 * every wrong symbol, any two that were swapped, and lines in the wrong order; and it says where to look.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LINE_SYMBOLS = 25;
const GROUP_SYMBOLS = 5;
const SYMBOL_BITS = 5;

/** How codes are grouped does not matter: blanks, line breaks and dashes are left out. */
const SEPARATORS = /[\s\u002d\u2010-\u2015\u2212]+/g;

/** What base64 has and groups do not: every code ends in "=" there. */
const BASE64_ONLY = /[+/=]/;

/** The code in lines of groups. */
export function groupCode(code: string): string {
  return splitLines(codeSymbols(code), LINE_SYMBOLS)
    .map((line) => splitLines(line, GROUP_SYMBOLS).join(' '))
    .join('\n');
}

/** The same without groups and lines, for machines. */
export function codeSymbols(code: string): string {
  const lines = splitLines(toSymbols(Buffer.from(code, 'base64')), LINE_SYMBOLS - 1);
  return lines.map((line, index) => line + checkOf(line, index + 1)).join('');
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

/** `null`: the bits that fill up the last symbol are not zeros. */
function toBytes(symbols: string): Buffer | null {
  const bits = Array.from(symbols, (symbol) =>
    ALPHABET.indexOf(symbol).toString(2).padStart(SYMBOL_BITS, '0'),
  ).join('');
  const length = bits.length - (bits.length % 8);
  if (bits.slice(length).includes('1')) return null;
  return Buffer.from(splitLines(bits.slice(0, length), 8).map((part) => Number.parseInt(part, 2)));
}

/**
 * A sum over the field of 32 elements in which every place has another weight: a single wrong symbol changes
 * it, and so does swapping two.
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
 * Reads a code of so many bytes that somebody typed, as base64 or in groups. A mistake in groups is told with
 * its line. Base64 has nothing to check: whatever cannot be told apart from it is left to the signature.
 */
export function readTypedCode(text: string, bytes: number): TypedCode {
  const compact = text.replace(SEPARATORS, '');
  if (BASE64_ONLY.test(compact) || isMixed(compact, bytes)) return { code: compact };
  const fault = findFault(text, bytes);
  if (fault !== null) return { fault };
  const lines = splitLines(unify(compact), LINE_SYMBOLS);
  const decoded = toBytes(lines.map((line) => line.slice(0, -1)).join(''));
  if (decoded === null) return { fault: mistakeIn(lines.length) };
  return { code: encodeBase64(decoded) };
}

/** Small and capital letters, and not as many as there should be: base64 that was cut short. */
function isMixed(compact: string, bytes: number): boolean {
  return compact.length !== countSymbols(bytes) && /[a-z]/.test(compact) && /[A-Z]/.test(compact);
}

/** Letters that look like digits are those digits. */
function unify(compact: string): string {
  return compact.toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
}

/** How many symbols a code of so many bytes has, with its checks. */
function countSymbols(bytes: number): number {
  const symbols = Math.ceil((bytes * 8) / SYMBOL_BITS);
  return symbols + Math.ceil(symbols / (LINE_SYMBOLS - 1));
}

/** What is wrong, and in which line, as a sentence; `null`: nothing. */
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

/** Whether everything is there: for whoever reads line by line. */
export function isWholeCode(text: string, bytes: number): boolean {
  const compact = text.replace(SEPARATORS, '');
  return compact.includes('=') || compact.length >= countSymbols(bytes);
}

const HARDWARE_ID = /^[0-9a-f]{64}$/;
const HARDWARE_ID_BYTES = 32;

/** A hardware id in groups; `null` for one that somebody chose, which has to be copied as it is. */
export function groupHardwareId(id: string): string | null {
  return HARDWARE_ID.test(id) ? groupCode(Buffer.from(id, 'hex').toString('base64')) : null;
}

/** No id that a person chose looks like this: so many groups were copied from a screen. */
const TELLING_GROUPS = 8;

/** The other way round. Whatever is not in groups is an id as it is. */
export function readHardwareId(text: string): string | { readonly fault: string } {
  const groups = text.split(SEPARATORS);
  const isGrouped = groups.filter(({ length }) => length === GROUP_SYMBOLS).length >= TELLING_GROUPS;
  if (!isGrouped && groups.join('').length !== countSymbols(HARDWARE_ID_BYTES)) return text;
  const read = readTypedCode(text, HARDWARE_ID_BYTES);
  if ('code' in read) return Buffer.from(read.code, 'base64').toString('hex');
  return isGrouped ? read : text;
}
