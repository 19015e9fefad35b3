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
    const written = row.trimEnd();
    const isOpen = written.endsWith('\\');
    parts.push(isOpen ? written.slice(0, -1) : written);
    if (isOpen && index < rows.length - 1) continue;
    const source = parts.join(' ').replace(/\s+/g, ' ').trim();
    const words = splitWords(source);
    if (words.length > 0) found.push({ line: index + 2 - parts.length, source, words });
    parts = [];
  }
  return found;
}

/** A name with spaces is in quotes. What follows a word that begins with # is a comment. */
function splitWords(source: string): readonly string[] {
  const words: string[] = [];
  let [word, isQuoted] = ['', false];
  for (const character of source) {
    if (character === '"') isQuoted = !isQuoted;
    else if (character !== ' ' || isQuoted) word += character;
    else {
      words.push(word);
      word = '';
    }
  }
  const all = [...words, word].filter((one) => one !== '');
  const comment = all.findIndex((one) => one.startsWith('#'));
  return comment === -1 ? all : all.slice(0, comment);
}
