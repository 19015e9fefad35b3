import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** The header that carries the signature of an answer's body. */
export const SIGNATURE_HEADER = 'LicenseSignature';

/** RSASSA-PKCS1-v1_5 with SHA-256, over the bytes as they are sent. */
export function signBytes(privateKey: KeyObject, bytes: Uint8Array): string {
  return sign('sha256', bytes, privateKey).toString('base64');
}

export function isSignedBy(publicKey: KeyObject, bytes: Uint8Array, signature: string): boolean {
  return verify('sha256', bytes, publicKey, Buffer.from(signature, 'base64'));
}

/** While a vendor changes its key, servers know the old and the new one. */
export function isSignedByOne(keys: readonly KeyObject[], bytes: Uint8Array, signature: string): boolean {
  return keys.some((key) => isSignedBy(key, bytes, signature));
}

/** What a license's own signature covers: which license, for which machine, until when. */
export function licenseSignatureText(
  hardwareId: string,
  licenseKey: string,
  validityPeriod: string | null,
): string {
  return `${hardwareId}#${licenseKey}#${validityPeriod ?? ''}`.toLowerCase();
}

/** Identifies a vendor by its signing key. */
export function fingerprintKey(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

const PEM_BLOCK = /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g;

/** Several PEM blocks, or a single key in either form. Throws for anything else. */
export function readPublicKeys(text: string): readonly KeyObject[] {
  const blocks = text.match(PEM_BLOCK) ?? [];
  return blocks.length < 2 ? [readPublicKey(text)] : blocks.map(readPublicKey);
}

/** A vendor's public RSA key: PEM, or the base64 of its DER form. Throws for anything else. */
export function readPublicKey(text: string): KeyObject {
  const trimmed = text.trim();
  const key = trimmed.startsWith('-----')
    ? createPublicKey(trimmed)
    : createPublicKey({ key: Buffer.from(trimmed, 'base64'), format: 'der', type: 'spki' });
  if (key.asymmetricKeyType !== 'rsa') throw new Error('The key is not an RSA key.');
  return key;
}
