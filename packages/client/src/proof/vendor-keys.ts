import { BerthError } from '../errors.ts';
import { type Bytes, readBase64, toBase64Url } from './signed-text.ts';

/** How all RSA public keys of 2048 bits and more begin, after their length. */
const RSA_KEY = /^MII...ANBgkqhkiG9w0BAQEFAAOC/;

/** A text may have several keys. Throws at once, and not when the first grant is verified. */
export function readVendorKeys(pems: string | readonly string[]): readonly Bytes[] {
  const texts = [pems].flat().flatMap(splitPem);
  if (texts.length === 0) throw noKey();
  return texts.map(readKey);
}

function splitPem(text: unknown): readonly string[] {
  return String(text)
    .split(/-----END [A-Z ]+-----/)
    .filter((part) => part.trim() !== '');
}

function readKey(pem: string): Bytes {
  const text = pem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  try {
    const bytes = readBase64(toBase64Url(text));
    if (RSA_KEY.test(text) && bytes.length === 4 + Number(bytes[2]) * 256 + Number(bytes[3])) return bytes;
  } catch {
    // Said below.
  }
  throw noKey();
}

function noKey(): BerthError {
  const advice = 'Give the public key that "berth cloud public-key" prints, as PEM, or a list of such keys.';
  return new BerthError('invalid_option', '"vendorKey" is not an RSA public key.', advice);
}
