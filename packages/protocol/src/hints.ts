/** How a command is written for whoever is to type it: `status` becomes `./berth status --data ./plant`. */
export type CallOf = (words: string) => string;

/** A hint must reach the data that it is about, so flags that say where that is go with it. */
export function createCallOf(program: string, carried: Readonly<Record<string, unknown>>): CallOf {
  const flags = Object.entries(carried)
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    .map(([name, value]) => ` --${name} ${quoteWord(value)}`);
  return (words) => `${program} ${words}${flags.join('')}`;
}

function quoteWord(word: string): string {
  return /^[\w/.\\:@%+=,-]+$/.test(word) ? word : `'${word}'`;
}

/**
 * Messages name commands in one way, as "berth status", because they may be read on another machine. This puts
 * the way in their place that works for the reader here. Only commands that there are count as such.
 */
export function rewriteHints(
  text: string,
  { name, commands, callOf }: { name: string; commands: readonly string[]; callOf: CallOf },
): string {
  const [before = '', ...parts] = text.split(`"${name} `);
  const rewritten = parts.map((part) => {
    const end = part.indexOf('"');
    const words = part.slice(0, Math.max(0, end));
    const isCommand = commands.some((command) => words === command || words.startsWith(`${command} `));
    return isCommand ? `"${callOf(words)}${part.slice(end)}` : `"${name} ${part}`;
  });
  return [before, ...rewritten].join('');
}
