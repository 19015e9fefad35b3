import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { decodeBase64 } from '@berth/protocol/carried/canonical-base64';

/** A text sealed with a passphrase. All values except names are in base64. */
export interface SealedText {
  /** What the text is. */
  readonly format: string;
  /** Changes with everything below, the derivation of the key included. */
  readonly version: typeof VERSION;
  readonly kdf: typeof KDF;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
  /** Covers the three texts above, to tell a damaged file from a wrong passphrase. */
  readonly checksum: string;
}

const VERSION = 1;
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

/** `format` is part of the seal: a text of one does not open as another. */
export async function sealText(
  format: string,
  text: string,
  passphrase: string,
  toKey: Stretch = stretch,
): Promise<SealedText> {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
  const key = await toKey(passphrase.normalize('NFC'), salt);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(format, salt));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const sealed = Buffer.concat([cipher.getAuthTag(), ciphertext]);
  const texts = {
    salt: salt.toString('base64'),
    nonce: nonce.toString('base64'),
    sealed: sealed.toString('base64'),
  };
  return { format, version: VERSION, kdf: KDF, ...texts, checksum: checksumOf(texts) };
}

interface ReadSeal {
  readonly salt: Buffer;
  readonly nonce: Buffer;
  readonly sealed: Buffer;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns null if the file is damaged. */
function readSealed(format: string, file: Fields): ReadSeal | null {
  if (file.format !== format || file.version !== VERSION) return null;
  if (JSON.stringify(file.kdf) !== JSON.stringify(KDF)) return null;
  const [salt, nonce, sealed] = [file.salt, file.nonce, file.sealed].map((text) =>
    typeof text === 'string' ? decodeBase64(text) : null,
  );
  if (salt?.length !== SALT_BYTES || nonce?.length !== NONCE_BYTES || sealed == null) return null;
  if (file.checksum !== checksumOf(file as unknown as SealedText)) return null;
  return { salt, nonce, sealed };
}

/** The problem is for people. */
type Opened =
  | { readonly text: string; readonly problem: null }
  | { readonly text: null; readonly problem: string };

export async function openSealed(
  format: string,
  file: Fields,
  passphrase: string,
  toKey: Stretch = stretch,
): Promise<Opened> {
  const { version } = file;
  if (typeof version === 'number' && version > VERSION) {
    const formats = `format ${version}; this one knows ${VERSION}`;
    return refuse(`a newer Berth has sealed it (${formats}). Import or restore it with that version.`);
  }
  const seal = readSealed(format, file);
  if (seal === null) return refuse('the file is damaged. Use another copy.');
  const { salt, nonce, sealed } = seal;
  const key = await toKey(passphrase.normalize('NFC'), salt);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(format, salt)).setAuthTag(sealed.subarray(0, TAG_BYTES));
    const plain = Buffer.concat([decipher.update(sealed.subarray(TAG_BYTES)), decipher.final()]);
    return { text: plain.toString('utf8'), problem: null };
  } catch {
    return refuse('the passphrase is wrong.');
  }
}

function refuse(why: string): Opened {
  return { text: null, problem: `The key cannot be opened: ${why}` };
}

function checksumOf({ salt, nonce, sealed }: Pick<SealedText, 'salt' | 'nonce' | 'sealed'>): string {
  return createHash('sha256').update(`${salt}\n${nonce}\n${sealed}`).digest('hex');
}

function associatedData(format: string, salt: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${format}\0${VERSION}\0${JSON.stringify(KDF)}\0`), salt]);
}
