import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { placeFile } from '@berth/shell/files/place-file';

const MODULUS_BITS = 3072;

/** Creates the vendor's first key pair unless it exists. */
export function createSigningKey(file: string): void {
  createKeyFile(file, generateSigningKey);
}

export function generateSigningKey(): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: MODULUS_BITS }).privateKey;
}

/** Creates the key pair for confirmation codes unless it exists. */
export function createAirgapKey(file: string): void {
  createKeyFile(file, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Writes a key that is known, unless the file exists. */
export function writeKeyFile(file: string, key: KeyObject): void {
  createKeyFile(file, () => key);
}

/** Durable when it returns. Concurrent processes end up with the same key. */
function createKeyFile(file: string, generate: () => KeyObject): void {
  if (existsSync(file)) return;
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, generate().export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flush: true });
  try {
    placeFile(draft, file, false);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

export function readKeyFile(file: string): KeyObject {
  return createPrivateKey(readFileSync(file));
}

/** The public keys with which servers verify responses: one PEM block for each. */
export function exportPublicKeys(keys: readonly KeyObject[]): string {
  return keys.map((key) => createPublicKey(key).export({ type: 'spki', format: 'pem' })).join('');
}
