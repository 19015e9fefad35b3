/** A line of two texts that are compared. */
export interface DiffLine {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
  /** In the text that it stands in: the new one, unless it was removed. */
  readonly number: number;
}

/** Beyond so many comparisons, everything between the first and the last change counts as replaced. */
const MAX_CELLS = 4_000_000;

/** What turns one text into another, line by line. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, young] = [before.split('\n'), after.split('\n')];
  const least = Math.min(old.length, young.length);
  let head = 0;
  while (head < least && old[head] === young[head]) head++;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === young.at(-1 - tail)) tail++;
  const steps = compare(old.slice(head, old.length - tail), young.slice(head, young.length - tail));
  const same = (lines: readonly string[], from: number): readonly DiffLine[] =>
    lines.map((text, index) => ({ sign: ' ', text, number: from + index + 1 }));
  return [
    ...same(young.slice(0, head), 0),
    ...steps.map((step) => ({ ...step, number: step.number + head })),
    ...same(young.slice(young.length - tail), young.length - tail),
  ];
}

/** By the longest common sequence of lines; removed lines come before those that replace them. */
function compare(old: readonly string[], young: readonly string[]): readonly DiffLine[] {
  const width = young.length + 1;
  const isLarge = (old.length + 1) * width > MAX_CELLS;
  const common = isLarge ? null : countCommon(old, young);
  const lines: DiffLine[] = [];
  let [from, to] = [0, 0];
  while (from < old.length || to < young.length) {
    const at = from * width + to;
    if (common !== null && from < old.length && to < young.length && old[from] === young[to]) {
      lines.push({ sign: ' ', text: young[to] as string, number: to + 1 });
      from++;
      to++;
    } else if (from < old.length && (to === young.length || isGone(common, at, width))) {
      lines.push({ sign: '-', text: old[from] as string, number: from + 1 });
      from++;
    } else {
      lines.push({ sign: '+', text: young[to] as string, number: to + 1 });
      to++;
    }
  }
  return lines;
}

function isGone(common: Uint32Array | null, at: number, width: number): boolean {
  return common === null || (common[at + width] as number) >= (common[at + 1] as number);
}

/** How many lines the rests of both texts have in common, for every pair of rests. */
function countCommon(old: readonly string[], young: readonly string[]): Uint32Array {
  const width = young.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  for (let from = old.length - 1; from >= 0; from--) {
    for (let to = young.length - 1; to >= 0; to--) {
      const at = from * width + to;
      common[at] =
        old[from] === young[to]
          ? (common[at + width + 1] as number) + 1
          : Math.max(common[at + width] as number, common[at + 1] as number);
    }
  }
  return common;
}

/** A difference as the server writes it: lines of both texts, each after its sign. */
export function readDiff(text: string): readonly DiffLine[] {
  let [from, to] = [0, 0];
  return text.split('\n').map((line) => {
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
