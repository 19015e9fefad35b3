import { foldCase } from '../../core/nouns/user-name.ts';

/**
 * A part of a name in lower case, in upper case and with capitals, but with small ASCII letters: SQLite's
 * `lower` leaves other letters alone, and PostgreSQL's may not. "öz" finds Özlem and ÖZLEM, though not eÖz.
 */
function spellingsOf(part: string): readonly string[] {
  const lower = part.normalize('NFC').toLowerCase();
  const capital = lower.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase());
  return [...new Set([lower, lower.toUpperCase(), capital].map(lowerAscii))];
}

function lowerAscii(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Whether a column contains the part, for the values of `partValues`. */
export function hasPart(column: string): string {
  const isLike = (name: string) => `lower(${column}) LIKE CAST(:${name} AS text) ESCAPE '~'`;
  return `(${['partA', 'partB', 'partC'].map(isLike).join(' OR ')})`;
}

/** Patterns for `hasPart`; those that are not needed match nothing. */
export function partValues(part: string | null) {
  const patterns = part === null ? [] : spellingsOf(part).map(patternOf);
  return { partA: patterns[0] ?? null, partB: patterns[1] ?? null, partC: patterns[2] ?? null };
}

function patternOf(part: string): string {
  return `%${part.replace(/[~%_]/g, (sign) => `~${sign}`)}%`;
}

/** The same, exactly. */
export function createPartTest(part: string): (name: unknown) => boolean {
  const folded = foldCase(part);
  return (name) => typeof name === 'string' && foldCase(name).includes(folded);
}
