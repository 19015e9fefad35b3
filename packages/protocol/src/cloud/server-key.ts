import { createHash } from 'node:crypto';

/** Of a server's public key (base64 of its DER form): SHA-256, all of it. People compare it. */
export function publicKeyFingerprint(publicKey: string): string {
  return createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex');
}
