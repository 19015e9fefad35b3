import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  type ScryptOptions,
  scrypt,
} from 'node:crypto';
import { promisify } from 'node:util';
import { KEY_BYTES, parseMasterKey } from './master-key.ts';
import { type MasterKey, SealError } from './seal.ts';

/** The master key sealed with a passphrase, as text. All values except names are in base64. */
export interface KeyExport {
  readonly format: 'berth key export';
  readonly version: 1;
  readonly kdf: typeof KDF;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
  /**
   * Covers the three fields above, to tell a damaged file from a wrong passphrase. Absent in exports of
   * earlier releases.
   */
  readonly checksum?: string;
}

/** The sealed content. */
interface ExportedKey {
  readonly masterKey: MasterKey;
  /** The id of the store that it opens. */
  readonly identity: string;
}

const FORMAT = 'berth key export';
const VERSION = 1;

/** 128 MiB and about half a second per guess. A file with other parameters is not ours. */
const KDF = { name: 'scrypt', n: 131_072, r: 8, p: 1 } as const;
const COST = { N: KDF.n, r: KDF.r, p: KDF.p, maxmem: 256 * 1024 * 1024 } as const;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const MIN_PASSPHRASE_LENGTH = 12;
/** An export has a few hundred characters. */
const MAX_EXPORT_LENGTH = 16 * 1024;

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

type Stretch = (passphrase: string, salt: Buffer) => Promise<Buffer>;

/** Derives a key from a passphrase; most tests use a fast replacement. */
function stretch(passphrase: string, salt: Buffer): Promise<Buffer> {
  return derive(passphrase, salt, KEY_BYTES, COST);
}

export async function sealExport(
  content: ExportedKey,
  passphrase: string,
  toKey: Stretch = stretch,
): Promise<KeyExport> {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
  const key = await toKey(passphrase.normalize('NFC'), salt);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associatedData(salt));
  const masterKey = Buffer.from(content.masterKey).toString('hex');
  const text = JSON.stringify({ masterKey, identity: content.identity });
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const sealed = Buffer.concat([cipher.getAuthTag(), ciphertext]);
  const texts = {
    salt: salt.toString('base64'),
    nonce: nonce.toString('base64'),
    sealed: sealed.toString('base64'),
  };
  return {
    format: FORMAT,
    version: VERSION,
    kdf: KDF,
    ...texts,
    checksum: checksumOf(texts),
  };
}

/** Opens an export, or throws; the message says whether the file or the passphrase is wrong. */
export async function openExport(
  text: string,
  passphrase: string,
  toKey: Stretch = stretch,
): Promise<ExportedKey> {
  const file = readExport(text);
  const key = await toKey(passphrase.normalize('NFC'), file.salt);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, file.nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(file.salt)).setAuthTag(file.sealed.subarray(0, TAG_BYTES));
    const plain = Buffer.concat([decipher.update(file.sealed.subarray(TAG_BYTES)), decipher.final()]);
    const { masterKey, identity } = JSON.parse(plain.toString('utf8')) as Record<string, string>;
    return { masterKey: parseMasterKey(masterKey ?? '', 'the export'), identity: identity ?? '' };
  } catch {
    throw new SealError(file.isChecked ? WRONG_PASSPHRASE : NOT_OPENED);
  }
}

function checksumOf({ salt, nonce, sealed }: Pick<KeyExport, 'salt' | 'nonce' | 'sealed'>): string {
  return createHash('sha256').update(`${salt}\n${nonce}\n${sealed}`).digest('hex');
}

function associatedData(salt: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${FORMAT}\0${VERSION}\0${JSON.stringify(KDF)}\0`), salt]);
}

interface ReadExport {
  readonly salt: Buffer;
  readonly nonce: Buffer;
  readonly sealed: Buffer;
  /** The file is undamaged: if it does not open, the passphrase is wrong. */
  readonly isChecked: boolean;
}

function readExport(text: string): ReadExport {
  const file = findExport(text);
  if (file.version !== VERSION || JSON.stringify(file.kdf) !== JSON.stringify(KDF)) throw damaged();
  const [salt, nonce, sealed] = [file.salt, file.nonce, file.sealed].map(bytesOf);
  if (salt?.length !== SALT_BYTES || nonce?.length !== NONCE_BYTES || sealed === undefined) throw damaged();
  const isChecked = file.checksum !== undefined;
  if (isChecked && file.checksum !== checksumOf(file as unknown as KeyExport)) throw damaged();
  return { salt, nonce, sealed, isChecked };
}

/** Finds the export in the text: other programs, such as npm, may have printed lines before and after it. */
function findExport(text: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_EXPORT_LENGTH) throw new SealError(NO_EXPORT);
  const span = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const found = [span, ...text.split('\n')].map(parseObject).filter(({ format }) => format === FORMAT);
  const exports = new Map(found.map((file) => [JSON.stringify(file), file]));
  const [first] = exports.values();
  if (first === undefined) throw text.includes(FORMAT) ? damaged() : new SealError(NO_EXPORT);
  if (exports.size > 1) throw new SealError('The file contains more than one export. Keep the one you need.');
  return first;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Strict, because Node skips invalid base64, and a changed file must not pass as another. */
function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value ? bytes : undefined;
}

const NO_EXPORT = 'The file does not contain a key export. Create one with "berth key export --out FILE".';
const WRONG_PASSPHRASE = 'The export cannot be opened: the passphrase is wrong.';
const NOT_OPENED = 'The export cannot be opened: the passphrase is wrong, or the file is damaged.';

function damaged(): SealError {
  return new SealError('The export cannot be opened: the file is damaged. Use another copy.');
}
