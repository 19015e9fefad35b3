import { BerthError, UnreachableError } from './errors.ts';

export type Token = string | (() => string | Promise<string>);

/** Files end with a line break, and so do texts that were read from them. */
export function readToken(token: unknown): string {
  const text = typeof token === 'string' ? token.trim() : '';
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  // It is not shown: it may be right but for one letter.
  const advice = 'Give the token as it was issued: letters, digits and signs of ASCII, in one line.';
  throw new BerthError('invalid_option', 'The "token" is empty, or cannot be sent.', advice);
}

/** Without a token no server can be asked; later perhaps. */
export async function askForToken(token: () => string | Promise<string>): Promise<string> {
  try {
    return readToken(await token());
  } catch (error) {
    if (error instanceof BerthError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const attempt = { server: 'the token', reason, mayHaveArrived: false };
    const advice = 'Correct the function that the program gives as "token".';
    throw new UnreachableError([attempt], error, { advice }, `The function "token" failed: ${reason}.`);
  }
}
