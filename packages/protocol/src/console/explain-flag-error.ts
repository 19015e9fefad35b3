import { suggest } from './suggest.ts';

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
