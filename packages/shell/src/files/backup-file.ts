import { createHash, createHmac, type Hash, timingSafeEqual } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
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

const VERSION = 1;
/** In every version at the same distance from the end, so that an older Berth can say what it has. */
const MARK = Buffer.from(`berth backup v${VERSION}\n`);
const LENGTH_BYTES = 4;
const DIGEST_BYTES = 32;
const END_BYTES = LENGTH_BYTES + MARK.length + 2 * DIGEST_BYTES;
/** An export of keys has a few thousand bytes. */
const MAX_FACTS_BYTES = 256 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/** `secret`: the key that the fingerprint in the facts belongs to. */
function backupMac(secret: Uint8Array, digest: Uint8Array): Buffer {
  const key = createHmac('sha256', secret).update('berth backup').digest();
  return createHmac('sha256', key).update(digest).digest();
}

/** Turns a database file into a backup. `pause` is called after each part, so that the disk can rest. */
export function addFooter(
  file: string,
  facts: Omit<BackupFacts, 'bytes'>,
  secret: Uint8Array,
  pause: () => void,
): BackupFacts {
  const handle = openSync(file, 'r+');
  try {
    const { size: bytes } = fstatSync(handle);
    const hash = createHash('sha256');
    readParts(handle, bytes, (part) => {
      hash.update(part);
      pause();
    });
    const complete: BackupFacts = { ...facts, bytes };
    const head = encodeFacts(complete);
    const digest = hash.update(head).digest();
    appendAll(file, Buffer.concat([head, digest, backupMac(secret, digest)]));
    fsyncSync(handle);
    return complete;
  } finally {
    closeSync(handle);
  }
}

function writeAll(handle: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(handle, bytes.subarray(done));
}

function appendAll(file: string, bytes: Uint8Array): void {
  const handle = openSync(file, 'a');
  try {
    writeAll(handle, bytes);
  } finally {
    closeSync(handle);
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
export function readBackup(file: string, take: (part: Uint8Array) => void): ReadBackup {
  const handle = openSync(file, 'r');
  try {
    const { size } = fstatSync(handle);
    const { facts, head, digest, mac } = readFooter(handle, size);
    const hash = createHash('sha256');
    readParts(handle, facts.bytes, (part) => {
      hash.update(part);
      take(part);
    });
    requireDigest(hash.update(head), digest);
    return { facts, digest, mac };
  } finally {
    closeSync(handle);
  }
}

/** What a backup says about itself. Nothing is checked but its length. */
export function readFacts(file: string): BackupFacts {
  const handle = openSync(file, 'r');
  try {
    return readFooter(handle, fstatSync(handle).size).facts;
  } finally {
    closeSync(handle);
  }
}

/** Writes the database of a backup to a new file, and checks every byte. */
export function extractBackup(file: string, to: string): ReadBackup {
  const output = openSync(to, 'wx', 0o600);
  try {
    const backup = readBackup(file, (part) => writeAll(output, part));
    fsyncSync(output);
    return backup;
  } catch (error) {
    if (error instanceof BackupError) throw new BackupError(`${error.message} Nothing was changed.`);
    const isOutput = (error as { readonly syscall?: string }).syscall === 'write';
    throw new BackupError(explainFileError(isOutput ? to : file, error, isOutput ? 'written' : 'read'));
  } finally {
    closeSync(output);
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

function readFooter(handle: number, size: number): Footer {
  if (size < END_BYTES) throw incomplete();
  const end = readAt(handle, size - END_BYTES, END_BYTES);
  requireMark(end.toString('latin1', LENGTH_BYTES, LENGTH_BYTES + MARK.length));
  const length = end.readUInt32BE(0);
  const start = size - END_BYTES - length;
  if (length > MAX_FACTS_BYTES || start < 0) throw damaged('its footer is unreadable');
  const json = readAt(handle, start, length);
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

function requireMark(mark: string): void {
  const version = /^berth backup v([1-9]\d*)\n$/.exec(mark)?.[1];
  if (version === undefined) throw incomplete();
  if (Number(version) === VERSION) return;
  throw new BackupError(
    `The backup was made by a newer Berth (format ${version}; this one knows ${VERSION}). ` +
      'Restore it with that version.',
  );
}

/** Its checksum vouches for the rest once it is checked. */
function parseFacts(json: Buffer): BackupFacts {
  try {
    const facts: unknown = JSON.parse(json.toString('utf8'));
    if (typeof facts === 'object' && facts !== null && 'bytes' in facts) return facts as BackupFacts;
  } catch {}
  throw damaged('its footer is unreadable');
}

function readParts(handle: number, bytes: number, take: (part: Uint8Array) => void): void {
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    take(readAt(handle, at, Math.min(CHUNK_BYTES, bytes - at)));
  }
}

function readAt(handle: number, at: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const count = readSync(handle, buffer, done, length - done, at + done);
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
