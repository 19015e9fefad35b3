import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';

const MODULUS_BITS = 3072;

/** Makes the vendor's key pair unless there is one. Two processes at once end up with the same. */
export function createSigningKey(file: string): void {
  if (existsSync(file)) return;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: MODULUS_BITS });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}

export function readSigningKey(file: string): KeyObject {
  return createPrivateKey(readFileSync(file));
}

/** What servers check answers with: PEM. */
export function exportPublicKey(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
}
