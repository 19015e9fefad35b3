/**
 * What has changed between two texts: lines of both, each after a space, or after "-" if only the first text
 * has it, or "+" if only the second does.
 */
export function diffLines(before: string, after: string): readonly string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  return [
    ...mark(' ', old.slice(0, start)),
    ...diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...mark(' ', old.slice(old.length - end)),
  ];
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function mark(sign: string, lines: readonly string[]): readonly string[] {
  return lines.map((line) => `${sign}${line}`);
}

/** Beyond this many pairs of lines, all of the old ones go before all of the new ones come. */
const MOST_PAIRS = 1_000_000;

/** Keeps as many lines as possible. */
function diffMiddle(old: readonly string[], now: readonly string[]): readonly string[] {
  if (old.length * now.length > MOST_PAIRS) return [...mark('-', old), ...mark('+', now)];
  const kept = countKept(old, now);
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(` ${old[i++]}`);
      j++;
    } else if (j === now.length || (i < old.length && at(kept, i + 1, j) >= at(kept, i, j + 1))) {
      lines.push(`-${old[i++]}`);
    } else {
      lines.push(`+${now[j++]}`);
    }
  }
  return lines;
}

/** How many lines the rests of both texts have in common, by where the rests begin. */
function countKept(old: readonly string[], now: readonly string[]): readonly Uint32Array[] {
  const kept = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    const row = kept[i] as Uint32Array;
    for (let j = now.length - 1; j >= 0; j--) {
      row[j] =
        old[i] === now[j] ? at(kept, i + 1, j + 1) + 1 : Math.max(at(kept, i + 1, j), at(kept, i, j + 1));
    }
  }
  return kept;
}

function at(kept: readonly Uint32Array[], i: number, j: number): number {
  return kept[i]?.[j] ?? 0;
}
