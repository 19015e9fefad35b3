import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { decodeBase64 } from '@berth/protocol/carried/canonical-base64';

/** A text sealed with a passphrase. All values except names are in base64. */
export interface SealedText {
  readonly kdf: typeof KDF;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
  /** Covers the three fields above, to tell a damaged file from a wrong passphrase. */
  readonly checksum: string;
}

/** 128 MiB and about half a second per guess. A file with other parameters is not ours. */
const KDF = { name: 'scrypt', n: 131_072, r: 8, p: 1 } as const;
const COST = { N: KDF.n, r: KDF.r, p: KDF.p, maxmem: 256 * 1024 * 1024 } as const;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export const MIN_PASSPHRASE_LENGTH = 12;

export type Stretch = (passphrase: string, salt: Buffer) => Promise<Buffer>;

/** Derives a key from a passphrase; most tests use a fast replacement. */
function stretch(passphrase: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, KEY_BYTES, COST, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/** `purpose` is part of the seal: a text that was sealed for one does not open for another. */
export async function sealText(
  purpose: string,
  text: string,
  passphrase: string,
  toKey: Stretch = stretch,
): Promise<SealedText> {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
  const key = await toKey(passphrase.normalize('NFC'), salt);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(purpose, salt));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const sealed = Buffer.concat([cipher.getAuthTag(), ciphertext]);
  const texts = {
    salt: salt.toString('base64'),
    nonce: nonce.toString('base64'),
    sealed: sealed.toString('base64'),
  };
  return { kdf: KDF, ...texts, checksum: checksumOf(texts) };
}

interface ReadSeal {
  readonly salt: Buffer;
  readonly nonce: Buffer;
  readonly sealed: Buffer;
}

/** Returns null if the file is damaged. */
export function readSealed(file: Readonly<Record<string, unknown>>): ReadSeal | null {
  if (JSON.stringify(file.kdf) !== JSON.stringify(KDF)) return null;
  const [salt, nonce, sealed] = [file.salt, file.nonce, file.sealed].map((text) =>
    typeof text === 'string' ? decodeBase64(text) : null,
  );
  if (salt?.length !== SALT_BYTES || nonce?.length !== NONCE_BYTES || sealed == null) return null;
  if (file.checksum !== checksumOf(file as unknown as SealedText)) return null;
  return { salt, nonce, sealed };
}

/** Returns null if the passphrase is wrong. */
export async function openSealed(
  purpose: string,
  { salt, nonce, sealed }: ReadSeal,
  passphrase: string,
  toKey: Stretch = stretch,
): Promise<string | null> {
  const key = await toKey(passphrase.normalize('NFC'), salt);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(purpose, salt)).setAuthTag(sealed.subarray(0, TAG_BYTES));
    const plain = Buffer.concat([decipher.update(sealed.subarray(TAG_BYTES)), decipher.final()]);
    return plain.toString('utf8');
  } catch {
    return null;
  }
}

function checksumOf({ salt, nonce, sealed }: Pick<SealedText, 'salt' | 'nonce' | 'sealed'>): string {
  return createHash('sha256').update(`${salt}\n${nonce}\n${sealed}`).digest('hex');
}

function associatedData(purpose: string, salt: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${purpose}\0${JSON.stringify(KDF)}\0`), salt]);
}
