/** No name is longer, and the comparison takes long. */
const LONGEST_WORD = 256;

/** " Did you mean …?", or an empty text if no name is similar. */
export function suggest(word: string, known: readonly string[]): string {
  if (word.length > LONGEST_WORD) return '';
  const ranked = known.map((name) => ({
    name,
    distance: countEdits(word.toLowerCase(), name.toLowerCase()),
  }));
  const best = ranked.sort((a, b) => a.distance - b.distance)[0];
  return best !== undefined && best.distance <= Math.max(2, word.length / 3) ? didYouMean([best.name]) : '';
}

/** " Did you mean "a", "b" or "c"?" */
export function didYouMean(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`);
  const last = quoted.pop();
  if (last === undefined) return '';
  return ` Did you mean ${quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`}?`;
}

/** The edit distance between two words. */
export function countEdits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
