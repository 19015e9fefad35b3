import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { KEY_BYTES, parseMasterKey } from './master-key.ts';
import { type MasterKey, SealError } from './seal.ts';

/** The master key under a passphrase: to be kept elsewhere, as text. Everything but names is in base64. */
export interface KeyExport {
  readonly format: 'berth key export';
  readonly version: 1;
  readonly kdf: typeof KDF;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
}

/** What is inside. */
export interface ExportedKey {
  readonly masterKey: MasterKey;
  /** Which store it opens. */
  readonly identity: string;
}

const FORMAT = 'berth key export';
const VERSION = 1;

/** 128 MiB and about half a second for each guess. A file that asks for anything else is none of ours. */
const KDF = { name: 'scrypt', n: 131_072, r: 8, p: 1 } as const;
const COST = { N: KDF.n, r: KDF.r, p: KDF.p, maxmem: 256 * 1024 * 1024 } as const;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const MIN_PASSPHRASE_LENGTH = 12;
/** An export is a few hundred characters. */
export const MAX_EXPORT_LENGTH = 16 * 1024;

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

function deriveKey(passphrase: string, salt: Buffer): Promise<Buffer> {
  return derive(passphrase.normalize('NFC'), salt, KEY_BYTES, COST);
}

export async function sealExport(content: ExportedKey, passphrase: string): Promise<KeyExport> {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
  const key = await deriveKey(passphrase, salt);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(salt));
  const masterKey = Buffer.from(content.masterKey).toString('hex');
  const text = JSON.stringify({ masterKey, identity: content.identity });
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const sealed = Buffer.concat([cipher.getAuthTag(), ciphertext]);
  return {
    format: FORMAT,
    version: VERSION,
    kdf: KDF,
    salt: salt.toString('base64'),
    nonce: nonce.toString('base64'),
    sealed: sealed.toString('base64'),
  };
}

/** Opens an export, or throws: whether the passphrase or the file is wrong cannot be told apart. */
export async function openExport(text: string, passphrase: string): Promise<ExportedKey> {
  const file = readExport(text);
  const key = await deriveKey(passphrase, file.salt);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, file.nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(file.salt)).setAuthTag(file.sealed.subarray(0, TAG_BYTES));
    const plain = Buffer.concat([decipher.update(file.sealed.subarray(TAG_BYTES)), decipher.final()]);
    const { masterKey, identity } = JSON.parse(plain.toString('utf8')) as Record<string, string>;
    return { masterKey: parseMasterKey(masterKey ?? '', 'the export'), identity: identity ?? '' };
  } catch {
    throw notOpened();
  }
}

function associatedData(salt: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${FORMAT}\0${VERSION}\0${JSON.stringify(KDF)}\0`), salt]);
}

function readExport(text: string): { salt: Buffer; nonce: Buffer; sealed: Buffer } {
  const file = parseExport(text);
  const isOurs =
    file.format === FORMAT && file.version === VERSION && JSON.stringify(file.kdf) === JSON.stringify(KDF);
  const [salt, nonce, sealed] = [file.salt, file.nonce, file.sealed].map(bytesOf);
  if (!isOurs || salt?.length !== SALT_BYTES || nonce?.length !== NONCE_BYTES || sealed === undefined) {
    throw notOpened();
  }
  return { salt, nonce, sealed };
}

function parseExport(text: string): Record<string, unknown> {
  try {
    const value: unknown = text.length > MAX_EXPORT_LENGTH ? null : JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Only as we write it: Node skips what is no base64, and a changed file must not pass for another. */
function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value ? bytes : undefined;
}

function notOpened(): SealError {
  return new SealError('The export cannot be opened: the passphrase is wrong, or the file is damaged.');
}
