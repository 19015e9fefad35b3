/** Formats a command for the user to type: `status` becomes `./berth status --data ./plant`. */
export type CallOf = (words: string) => string;

/** Adds the flags that select the data, so that the hint applies to the same data. */
export function createCallOf(program: string, carried: Readonly<Record<string, unknown>>): CallOf {
  const flags = Object.entries(carried)
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    .map(([name, value]) => ` --${name} ${quoteWord(value)}`);
  return (words) => `${program} ${words}${flags.join('')}`;
}

function quoteWord(word: string): string {
  return /^[\w/.\\:@%+=,-]+$/.test(word) ? word : `'${word}'`;
}

export interface Hints {
  /** The program name in messages. */
  readonly name: string;
  readonly commands: readonly string[];
  readonly callOf: CallOf;
}

/** The messages of a terminal. */
export interface Messages {
  complain(line: string): void;
  warn(line: string): void;
  fail(line: string): void;
}

/** The same terminal, with commands in messages written as the user types them. */
export function withHints<T extends Messages>(terminal: T, hints: Hints): T {
  return {
    ...terminal,
    complain: (line) => terminal.complain(rewriteHints(line, hints)),
    warn: (line) => terminal.warn(rewriteHints(line, hints)),
    fail: (line) => terminal.fail(rewriteHints(line, hints)),
  };
}

/**
 * Messages name commands in one way, such as "berth status", because they may be read on another machine.
 * This replaces them with what the user can type here. Only existing commands are replaced.
 */
export function rewriteHints(text: string, { name, commands, callOf }: Hints): string {
  const [before = '', ...parts] = text.split(`"${name} `);
  const rewritten = parts.map((part) => {
    const end = part.indexOf('"');
    const words = part.slice(0, Math.max(0, end));
    const isCommand = commands.some((command) => words === command || words.startsWith(`${command} `));
    return isCommand ? `"${callOf(words)}${part.slice(end)}` : `"${name} ${part}`;
  });
  return [before, ...rewritten].join('');
}
