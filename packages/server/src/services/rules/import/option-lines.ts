/** A line of an options file that is no comment. A backslash at its end joins it with the next. */
export interface OptionLine {
  /** Of the file, counted from 1; the first if several are joined. */
  readonly line: number;
  readonly source: string;
  readonly words: readonly string[];
}

export function readOptionLines(text: string): readonly OptionLine[] {
  const rows = text.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  const found: OptionLine[] = [];
  let parts: string[] = [];
  for (const [index, row] of rows.entries()) {
    parts.push(row.replace(/\\?\s*$/, ''));
    if (/\\\s*$/.test(row) && index < rows.length - 1) continue;
    const source = parts.join(' ').replace(/\s+/g, ' ').trim();
    const words = splitWords(source);
    if (words.length > 0) found.push({ line: index + 2 - parts.length, source, words });
    parts = [];
  }
  return found;
}

/** A name with spaces is in quotes. What follows a word that begins with # is a comment. */
function splitWords(source: string): readonly string[] {
  const words = source.match(/(?:"[^"]*"|[^\s"])+|"/g) ?? [];
  const comment = words.findIndex((word) => word.startsWith('#'));
  return words.slice(0, comment === -1 ? words.length : comment).map((word) => word.replaceAll('"', ''));
}
