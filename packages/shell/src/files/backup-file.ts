import { createHash, createHmac, type Hash, timingSafeEqual } from 'node:crypto';
import { explainFileError } from './explain-file-error.ts';

/**
 * A backup is a SQLite database followed by a footer: facts about it in JSON, their length, a mark, the
 * SHA-256 of everything before, and an HMAC of that. The checksum finds damage; the HMAC shows that whoever
 * wrote the file had the key. `docs/decisions/0037-a-backup-is-a-database-with-a-footer.md` says why.
 */
export interface BackupFacts {
  readonly program: 'server' | 'cloud';
  readonly made_by: string;
  readonly made_at: string;
  readonly schema_version: number;
  /** Where the data was, such as `sqlite`. */
  readonly store: string;
  readonly identity: string;
  /** The fingerprint of the key that authenticates the file and opens the secrets in it. */
  readonly key_fingerprint: string;
  /** Keys under a passphrase; `null` if they are not included. */
  readonly sealed_keys: object | null;
  /** The length of the database. */
  readonly bytes: number;
}

/** Why a file is not a usable backup. The message is for people. */
export class BackupError extends Error {}

/** Of `node:fs`, passed in by the caller. */
interface BackupSystem {
  openSync(path: string, flags: string, mode?: number): number;
  readSync(handle: number, buffer: Uint8Array, offset: number, length: number, position: number): number;
  writeSync(handle: number, buffer: Uint8Array): number;
  fstatSync(handle: number): { readonly size: number };
  fsyncSync(handle: number): void;
  closeSync(handle: number): void;
}

const MARK = Buffer.from('berth backup v1\n');
const LENGTH_BYTES = 4;
const DIGEST_BYTES = 32;
const END_BYTES = LENGTH_BYTES + MARK.length + 2 * DIGEST_BYTES;
/** An export of keys has a few thousand bytes. */
const MOST_FACTS_BYTES = 256 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/** `secret`: the key that the fingerprint in the facts belongs to. */
function backupMac(secret: Uint8Array, digest: Uint8Array): Buffer {
  const key = createHmac('sha256', secret).update('berth backup').digest();
  return createHmac('sha256', key).update(digest).digest();
}

/** Turns a database file into a backup. `pause` is called after each part, so that the disk can rest. */
export function addFooter(
  fs: BackupSystem,
  file: string,
  facts: Omit<BackupFacts, 'bytes'>,
  secret: Uint8Array,
  pause: () => void,
): BackupFacts {
  const handle = fs.openSync(file, 'r+');
  try {
    const { size: bytes } = fs.fstatSync(handle);
    const hash = createHash('sha256');
    readParts(fs, handle, bytes, (part) => {
      hash.update(part);
      pause();
    });
    const complete: BackupFacts = { ...facts, bytes };
    const head = encodeFacts(complete);
    const digest = hash.update(head).digest();
    appendAll(fs, file, Buffer.concat([head, digest, backupMac(secret, digest)]));
    fs.fsyncSync(handle);
    return complete;
  } finally {
    fs.closeSync(handle);
  }
}

function writeAll(fs: BackupSystem, handle: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(handle, bytes.subarray(done));
}

function appendAll(fs: BackupSystem, file: string, bytes: Uint8Array): void {
  const handle = fs.openSync(file, 'a');
  try {
    writeAll(fs, handle, bytes);
  } finally {
    fs.closeSync(handle);
  }
}

function encodeFacts(facts: BackupFacts): Buffer {
  const json = Buffer.from(JSON.stringify(facts));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  return Buffer.concat([json, length, MARK]);
}

/** A backup whose checksum is right. Callers must check its key before they believe it. */
interface ReadBackup {
  readonly facts: BackupFacts;
  readonly digest: Buffer;
  readonly mac: Buffer;
}

/** Reads a backup and checks every byte. `take` gets the database in parts, before the verdict is known. */
export function readBackup(fs: BackupSystem, file: string, take: (part: Uint8Array) => void): ReadBackup {
  const handle = fs.openSync(file, 'r');
  try {
    const { size } = fs.fstatSync(handle);
    const { facts, head, digest, mac } = readFooter(fs, handle, size);
    const hash = createHash('sha256');
    readParts(fs, handle, facts.bytes, (part) => {
      hash.update(part);
      take(part);
    });
    requireDigest(hash.update(head), digest);
    return { facts, digest, mac };
  } finally {
    fs.closeSync(handle);
  }
}

/** Writes the database of a backup to a new file, and checks every byte. */
export function extractBackup(fs: BackupSystem, file: string, to: string): ReadBackup {
  const output = fs.openSync(to, 'wx', 0o600);
  try {
    const backup = readBackup(fs, file, (part) => writeAll(fs, output, part));
    fs.fsyncSync(output);
    return backup;
  } catch (error) {
    if (error instanceof BackupError) throw new BackupError(`${error.message} Nothing was changed.`);
    const isOutput = (error as { readonly syscall?: string }).syscall === 'write';
    throw new BackupError(explainFileError(isOutput ? to : file, error, isOutput ? 'written' : 'read'));
  } finally {
    fs.closeSync(output);
  }
}

function requireDigest(hash: Hash, digest: Buffer): void {
  if (!timingSafeEqual(hash.digest(), digest)) throw damaged('its checksum is wrong');
}

/** The checksum says nothing about who wrote the file. */
export function requireAuthentic({ digest, mac }: ReadBackup, secret: Uint8Array): void {
  if (timingSafeEqual(backupMac(secret, digest), mac)) return;
  throw new BackupError(
    'The backup was not written with this key: somebody has changed it, or made it up. Use another copy.',
  );
}

interface Footer {
  readonly facts: BackupFacts;
  /** The facts as they are in the file, with their length and the mark. */
  readonly head: Buffer;
  readonly digest: Buffer;
  readonly mac: Buffer;
}

function readFooter(fs: BackupSystem, handle: number, size: number): Footer {
  if (size < END_BYTES) throw incomplete();
  const end = readAt(fs, handle, size - END_BYTES, END_BYTES);
  if (!end.subarray(LENGTH_BYTES, LENGTH_BYTES + MARK.length).equals(MARK)) throw incomplete();
  const length = end.readUInt32BE(0);
  const start = size - END_BYTES - length;
  if (length > MOST_FACTS_BYTES || start < 0) throw damaged('its footer is unreadable');
  const json = readAt(fs, handle, start, length);
  const facts = parseFacts(json);
  if (facts.bytes !== start) throw damaged('its length is wrong');
  const digests = end.subarray(LENGTH_BYTES + MARK.length);
  return {
    facts,
    head: Buffer.concat([json, end.subarray(0, LENGTH_BYTES + MARK.length)]),
    digest: digests.subarray(0, DIGEST_BYTES),
    mac: digests.subarray(DIGEST_BYTES),
  };
}

/** Its checksum vouches for the rest once it is checked. */
function parseFacts(json: Buffer): BackupFacts {
  try {
    const facts: unknown = JSON.parse(json.toString('utf8'));
    if (typeof facts === 'object' && facts !== null && 'bytes' in facts) return facts as BackupFacts;
  } catch {}
  throw damaged('its footer is unreadable');
}

function readParts(fs: BackupSystem, handle: number, bytes: number, take: (part: Uint8Array) => void): void {
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    take(readAt(fs, handle, at, Math.min(CHUNK_BYTES, bytes - at)));
  }
}

function readAt(fs: BackupSystem, handle: number, at: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const count = fs.readSync(handle, buffer, done, length - done, at + done);
    if (count === 0) throw incomplete();
    done += count;
  }
  return buffer;
}

function incomplete(): BackupError {
  return new BackupError(
    'The file is not a complete backup: its end is missing, or it is something else. Use another copy.',
  );
}

function damaged(detail: string): BackupError {
  return new BackupError(`The backup is damaged: ${detail}. Use another copy.`);
}
