/** A name in which `*` stands for any run of characters, none included. */
export interface NamePattern {
  /** What stands between the stars. A name without one is a single part. */
  readonly parts: readonly string[];
}

/** Names are compared without regard to case, and however their accents are put together. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

export function parsePattern(text: string): NamePattern {
  return { parts: foldName(text).split('*') };
}

export function hasStar({ parts }: NamePattern): boolean {
  return parts.length > 1;
}

/**
 * Whether a folded name fits. Each part is looked for once, behind the one before it: taking the first place
 * leaves the most for the rest, so nothing is ever tried again.
 */
export function fitsPattern(name: string, { parts }: NamePattern): boolean {
  const [front = '', ...rest] = parts;
  const back = rest.pop();
  if (back === undefined) return name === front;
  const end = name.length - back.length;
  if (end < front.length || !name.startsWith(front) || !name.endsWith(back)) return false;
  let from = front.length;
  for (const part of rest) {
    const found = name.indexOf(part, from);
    if (found === -1 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}
