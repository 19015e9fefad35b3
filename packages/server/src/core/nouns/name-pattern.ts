import { withoutHidden } from '@berth/protocol/hidden-characters';
import { foldCase } from './user-name.ts';

/** A name in which `*` stands for any run of characters, or for none. */
export interface NamePattern {
  readonly front: string;
  /** What stands between the first star and the last. */
  readonly middle: readonly string[];
  /** `null`: there is no star, and the front is all. */
  readonly back: string | null;
}

/** Most names have nothing to be folded but case. */
const PLAIN = /^[ -~]*$/;

/**
 * Names are compared without regard to case, width, invisible characters and the encoding of accents, so that
 * a bar also holds for other spellings of the name.
 */
export function foldName(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return foldCase(withoutHidden(name).normalize('NFKC')).normalize('NFKC');
}

export function parsePattern(text: string): NamePattern {
  // Split before it is folded: a wide asterisk is a character like any other.
  const [front = '', ...rest] = text.split('*').map(foldName);
  const back = rest.pop() ?? null;
  return { front, middle: rest.filter((part) => part !== ''), back };
}

/**
 * Returns whether a folded name matches. Each part is searched once, after the one before it: the first match
 * leaves the most for the rest, so there is no backtracking.
 */
export function fitsPattern(name: string, { front, middle, back }: NamePattern): boolean {
  if (back === null) return name === front;
  const end = name.length - back.length;
  if (end < front.length || !name.startsWith(front) || !name.endsWith(back)) return false;
  let from = front.length;
  for (const part of middle) {
    const found = name.indexOf(part, from);
    if (found === -1 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}
