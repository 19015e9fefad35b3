import { ProofError } from '../errors.ts';
import type { Fields } from '../read-answer.ts';

/** `Uint8Array` has a parameter only since TypeScript 5.7. */
export type Bytes = ReturnType<typeof Uint8Array.from>;

/** A compact JWS, taken apart. Nothing in it is proven yet. */
interface SignedText {
  readonly claims: Fields;
  readonly signed: Bytes;
  readonly signature: Bytes;
}

/** The algorithm is given, and never taken from the text. */
export function readSigned(text: string, { alg, typ }: { alg: string; typ: string }): SignedText {
  const [head = '', body = '', signature = '', ...rest] = text.split('.');
  if (rest.length > 0) throw new ProofError('It has more than three parts.');
  const header = readJson(head);
  if (header.alg !== alg || header.typ !== typ) throw new ProofError(`It is not signed as ${typ}.`);
  // It names what a reader must understand, and there is nothing of this kind yet.
  if ('crit' in header) throw new ProofError('It needs a newer version of the client.');
  return {
    claims: readJson(body),
    signed: new TextEncoder().encode(`${head}.${body}`),
    signature: readBase64(signature),
  };
}

export function readBase64(text: string): Bytes {
  try {
    const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    // Several texts may mean the same bytes, and only one of them was signed.
    if (toBase64Url(btoa(letters)) === text)
      return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  } catch (error) {
    throw new ProofError('It is not Base64.', { cause: error });
  }
  throw new ProofError('It is not the Base64 that was signed.');
}

export function toBase64Url(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function readJson(part: string): Fields {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(readBase64(part)));
    if (typeof value === 'object' && value !== null) return value as Fields;
  } catch (error) {
    if (error instanceof ProofError) throw error;
  }
  throw new ProofError('It is not JSON.');
}
