import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { existsSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';

const MODULUS_BITS = 3072;

/** Makes the vendor's key pair unless there is one. */
export function createSigningKey(file: string): void {
  createKeyFile(file, () => generateKeyPairSync('rsa', { modulusLength: MODULUS_BITS }).privateKey);
}

/** Makes the key pair for confirmation codes unless there is one. */
export function createAirgapKey(file: string): void {
  createKeyFile(file, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** Two processes at once end up with the same key. */
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

/** What servers check answers with: PEM. */
export function exportPublicKey(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
}
