import { diffLines as markLines } from '@berth/protocol/diff-lines';

/** A line of two texts that are compared. */
export interface DiffLine {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
  /** In the text that it stands in: the new one, unless it was removed. */
  readonly number: number;
}

/** What turns one text into another, line by line. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  return numberLines(markLines(before, after));
}

/** A difference as the server writes it: lines of both texts, each after its sign. */
export function readDiff(text: string): readonly DiffLine[] {
  return numberLines(text.split('\n'));
}

function numberLines(lines: readonly string[]): readonly DiffLine[] {
  let [from, to] = [0, 0];
  return lines.map((line) => {
    const sign = line.startsWith('+') || line.startsWith('-') ? (line[0] as '+' | '-') : ' ';
    if (sign !== '+') from++;
    if (sign !== '-') to++;
    return { sign, text: line.slice(1), number: sign === '-' ? from : to };
  });
}

/** The lines of the new text that the old one does not have, by number. */
export function listChanged(lines: readonly DiffLine[]): ReadonlySet<number> {
  return new Set(lines.filter(({ sign }) => sign === '+').map(({ number }) => number));
}

/** Such as: four lines changed. */
export function countDiff(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  const count = (wanted: DiffLine['sign']) => lines.filter(({ sign }) => sign === wanted).length;
  return { added: count('+'), removed: count('-') };
}

/** Only what changed, with a few lines around it; `null`: some lines are left out here. */
export function foldDiff(lines: readonly DiffLine[], around = 2): readonly (DiffLine | null)[] {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ sign }) => sign !== ' ');
  const folded: (DiffLine | null)[] = [];
  for (const [index, line] of lines.entries()) {
    if (isNear(index)) folded.push(line);
    else if (folded.length > 0 && folded.at(-1) !== null) folded.push(null);
  }
  return folded.at(-1) === null ? folded.slice(0, -1) : folded;
}
