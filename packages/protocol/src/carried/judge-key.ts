import { readPublicKeys } from '../cloud/vendor-signature.ts';
import { readAirgapPublicKey } from './airgap-codes.ts';

/** What is wrong with keys of a vendor that are given as texts; `null` if nothing is. */
export function findKeyFault(given: unknown): string | null {
  const isFine = [given].flat().every((text) => isPublicKey(String(text)));
  return isFine ? null : 'This is not the public key of a vendor: an RSA key in PEM form.';
}

/** A private key contains the public one, but must not be kept and shown. */
function isPublicKey(text: string): boolean {
  try {
    return !text.includes('PRIVATE KEY') && readPublicKeys(text).length > 0;
  } catch {
    return false;
  }
}

/** The same for the key of confirmation codes; empty for none. */
export function findCodeKeyFault(given: unknown): string | null {
  if (given === '' || readAirgapPublicKey(String(given)) !== null) return null;
  return 'This is not the key of a vendor\'s confirmation codes: 88 characters that end with "==".';
}
