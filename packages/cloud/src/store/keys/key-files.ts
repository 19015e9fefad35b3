import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';

const MODULUS_BITS = 3072;

/** Creates the vendor's key pair unless it exists. */
export function createSigningKey(file: string): void {
  createKeyFile(file, () => generateKeyPairSync('rsa', { modulusLength: MODULUS_BITS }).privateKey);
}

/** Creates the key pair for confirmation codes unless it exists. */
export function createAirgapKey(file: string): void {
  createKeyFile(file, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Writes a key that is known, unless the file exists. */
export function writeKeyFile(file: string, key: KeyObject): void {
  createKeyFile(file, () => key);
}

/** Concurrent processes end up with the same key. */
function createKeyFile(file: string, generate: () => KeyObject): void {
  if (existsSync(file)) return;
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, generate().export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}

export function readKeyFile(file: string): KeyObject {
  return createPrivateKey(readFileSync(file));
}

/** The public key with which servers verify responses, in PEM. */
export function exportPublicKey(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
}
