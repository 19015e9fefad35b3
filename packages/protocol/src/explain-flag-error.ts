import { suggest } from './suggest.ts';

/** What `parseArgs` did not like, in one sentence; for an unknown flag with a suggestion. */
export function explainFlagError(error: unknown, names: readonly string[]): string {
  const { message, code } = error as { readonly message: string; readonly code?: string };
  const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? /'(--?[^' ]+)/.exec(message)?.[1] : undefined;
  const known = names.map((name) => `--${name}`);
  return `${firstSentenceOf(message)}.${unknown === undefined ? '' : suggest(unknown, known)}`;
}

/** Without the dot at its end. */
function firstSentenceOf(message: string): string {
  const line = message.split('\n', 1)[0]?.trimEnd() ?? '';
  return line.split('. ', 1)[0]?.replace(/\.$/, '') ?? '';
}
