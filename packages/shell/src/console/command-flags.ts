import { suggest } from '@berth/protocol/suggest';

/** Flags by their names, as `parseArgs` of Node takes them. */
export type FlagTable = Readonly<
  Record<
    string,
    { readonly type: 'string' | 'boolean'; readonly short?: string; readonly multiple?: boolean }
  >
>;

type ValueOf<F> = F extends { multiple: true } ? string[] : F extends { type: 'boolean' } ? boolean : string;

/** What the flags of a table were given as. */
export type FlagsOf<T extends FlagTable> = { readonly [Name in keyof T]?: ValueOf<T[Name]> };

export type FlagValues = Readonly<
  Record<string, string | boolean | readonly (string | boolean)[] | undefined>
>;

/** The flags that a usage names. */
export function listFlags(usage: string): readonly string[] {
  const words = usage.split(/[^\w-]/);
  return words.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
}

/** A flag outside brackets that is not given; where bars stand between them, one is enough. */
export function findMissingFlag(usage: string, flags: FlagValues): string | undefined {
  const [first = '', ...others] = usage.split('[');
  const required = [first, ...others.map((part) => part.slice(part.indexOf(']') + 1))].join('').trim();
  const alternatives = required.split(' | ');
  const isGiven = (flag: string) => flags[listFlags(flag)[0] ?? ''] !== undefined;
  if (alternatives.length > 1) return alternatives.some(isGiven) ? undefined : alternatives.join(' or ');
  const all = required.split(/(?=--)/).map((flag) => flag.trim());
  return all.find((flag) => flag.startsWith('--') && !isGiven(flag));
}

/** Writes `--grant-key -Kx` as `--grant-key=-Kx`, which `parseArgs` takes: keys may begin with a dash. */
export function joinDashedValues(argv: readonly string[], table: FlagTable): string[] {
  const shorts = Object.values(table).map(({ short }) => `-${short}`);
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const joined: string[] = [];
  for (const word of argv.slice(0, end)) {
    const flag = joined.at(-1) ?? '';
    const takesValue = flag.startsWith('--') && table[flag.slice(2)]?.type === 'string';
    const isDashed = /^-[^-]/.test(word) && !shorts.includes(word);
    if (takesValue && isDashed) joined[joined.length - 1] = `${flag}=${word}`;
    else joined.push(word);
  }
  return [...joined, ...argv.slice(end)];
}

/** Explains an error of `parseArgs`, with a suggestion for an unknown flag. */
export function explainFlagError(error: unknown, names: readonly string[]): string {
  const { message, code } = error as { readonly message: string; readonly code?: string };
  const flag = /'(?:-\w, )?(--?[^' ]+)/.exec(message)?.[1] ?? '';
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const known = names.map((name) => `--${name}`);
    return `Unknown flag "${flag}".${suggest(flag, known)}`;
  }
  if (message.includes('does not take an argument')) return `${flag} does not take a value.`;
  const dashed = message.includes('ambiguous')
    ? ` If the value begins with a dash, write ${flag}=VALUE.`
    : '';
  return `${flag} needs a value.${dashed}`;
}
