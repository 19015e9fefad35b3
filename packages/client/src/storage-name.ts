import { fingerprint } from './sha256.ts';

/** So that names stay below what file systems allow. */
const MAX_LENGTH = 60;
const KEPT_LENGTH = 27;

/** The start of all names for a product. No product makes the start of another one's names. */
export function nameOf(kind: 'borrow' | 'count', product: string): string {
  return `${kind}@${encodePart(product)}@`;
}

/** Different texts stay different, also where file names do not tell capital letters from small ones. */
export function encodePart(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => {
    const letter = String.fromCharCode(byte);
    return /[a-z0-9._-]/.test(letter) ? letter : `%${byte.toString(16).padStart(2, '0')}`;
  });
  const encoded = bytes.join('');
  return encoded.length <= MAX_LENGTH ? encoded : `${encoded.slice(0, KEPT_LENGTH)}~${fingerprint(text)}`;
}

/** Of stored borrows and counts. Programs with other versions of the client share the folder. */
export const STORED_VERSION = 1;

/** Whether a newer client has stored it: then it may mean something else. */
export function isStoredByNewer(version: unknown): boolean {
  return typeof version === 'number' && version > STORED_VERSION;
}
