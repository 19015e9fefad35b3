/** A name in which `*` stands for any run of characters, none included. */
export interface NamePattern {
  readonly front: string;
  /** What stands between the first star and the last. */
  readonly middle: readonly string[];
  /** `null`: there is no star, and the front is all. */
  readonly back: string | null;
}

/** Names are compared without regard to case, and however their accents are put together. */
export function foldName(name: string): string {
  // Upper case first: it brings letters together that lower case leaves apart. A sigma has two lower cases.
  return name.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

export function parsePattern(text: string): NamePattern {
  const [front = '', ...rest] = foldName(text).split('*');
  const back = rest.pop() ?? null;
  return { front, middle: rest.filter((part) => part !== ''), back };
}

/**
 * Whether a folded name fits. Each part is looked for once, behind the one before it: taking the first place
 * leaves the most for the rest, so nothing is ever tried again.
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
