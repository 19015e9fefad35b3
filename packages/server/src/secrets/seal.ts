import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** A 32-byte key that seals the secrets in the store. */
export type MasterKey = Uint8Array & { readonly brand: 'MasterKey' };

/** A secret cannot be opened; the message says which key was expected. */
export class SealError extends Error {}

const FORMAT = 1;
const FINGERPRINT_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + FINGERPRINT_BYTES;

function fingerprintBytes(key: MasterKey): Buffer {
  return createHash('sha256').update('berth master key').update(key).digest().subarray(0, FINGERPRINT_BYTES);
}

/** Identifies a key without revealing it. */
export function fingerprint(key: MasterKey): string {
  return fingerprintBytes(key).toString('hex');
}

/** The fingerprint of the key that opens it. */
export function fingerprintOfSeal(sealed: Uint8Array): string {
  return Buffer.from(sealed).subarray(1, HEADER_BYTES).toString('hex');
}

/** Identifies other keys: eight hex digits are enough to recognise one, but too few to guess it. */
export function secretFingerprint(label: string, secret: string): string {
  return createHash('sha256').update(`berth ${label}\0${secret}`).digest('hex').slice(0, 8);
}

/** The name is part of the seal, so a sealed value does not open under another name. */
function associatedData(header: Uint8Array, name: string): Buffer {
  return Buffer.concat([header, Buffer.from(`berth sealed secret\0${name}`)]);
}

/** AES-256-GCM: format, fingerprint of the key, nonce, tag, ciphertext. */
export function seal(key: MasterKey, name: string, secret: Uint8Array): Uint8Array {
  const header = Buffer.concat([Buffer.of(FORMAT), fingerprintBytes(key)]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(header, name));
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([header, nonce, cipher.getAuthTag(), ciphertext]);
}

export function unseal(key: MasterKey, name: string, sealed: Uint8Array): Uint8Array {
  const bytes = Buffer.from(sealed);
  const [format = FORMAT] = bytes;
  if (format > FORMAT) {
    throw new SealError(
      `A newer Berth has sealed the secret "${name}" (format ${format}; this one knows ${FORMAT}). ` +
        'Start that version.',
    );
  }
  const header = bytes.subarray(0, HEADER_BYTES);
  const expected = fingerprintOfSeal(sealed);
  if (expected !== fingerprint(key)) {
    throw new SealError(
      `The master key is not the one that sealed this store: its fingerprint is ${fingerprint(key)}, ` +
        `the store needs ${expected}. Start with the right master key.`,
    );
  }
  const nonce = bytes.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES);
  const tag = bytes.subarray(HEADER_BYTES + NONCE_BYTES, HEADER_BYTES + NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(header, name)).setAuthTag(tag);
    const ciphertext = bytes.subarray(HEADER_BYTES + NONCE_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch {
    throw new SealError(`The sealed secret "${name}" was changed or damaged.`);
  }
}

/** While a master key is being replaced, either key may have sealed a secret. */
export function unsealWithAny(keys: readonly MasterKey[], name: string, sealed: Uint8Array): Uint8Array {
  const expected = fingerprintOfSeal(sealed);
  const key = keys.find((candidate) => fingerprint(candidate) === expected) ?? keys[0];
  if (key === undefined) throw new SealError(`There is no master key to open "${name}".`);
  return unseal(key, name, sealed);
}
