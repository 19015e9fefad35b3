import { BerthError, BorrowError } from '../errors.ts';
import type { Proof } from '../proof/verifier.ts';
import { encodePart, isStoredByNewer, nameOf, STORED_VERSION } from '../storage-name.ts';
import { type Account, returnSlot } from './account.ts';

/** What is stored of a borrow: there is one of each user, product and server. */
export interface BorrowRecord {
  readonly product: string;
  readonly user: string;
  /** The license that was asked for; `null`: any. */
  readonly licenseId: number | null;
  /** Stands for the computer on which it was borrowed. */
  readonly mark: string;
  /** The public id of the server's store, or what stands for its addresses. */
  readonly binding: string;
  /** What was asked for, until the answer is known. Stored before the server is asked. */
  readonly asked: Asked | null;
  /** `null` if nothing is known to be lent. */
  readonly lent: Lent | null;
  /** The latest wall clock that this borrow was used with. */
  readonly seenMs: number;
}

interface Asked {
  /** `null`: as long as the license allows. */
  readonly until: string | null;
}

export interface Lent {
  readonly licenseId: number | null;
  /** Milliseconds of the wall clock. */
  readonly untilMs: number;
  /** With the vendor's key: what proves all of this. */
  readonly proof: Proof | null;
}

/** A record in the storage. */
export interface StoredRecord {
  readonly name: string;
  readonly record: BorrowRecord;
}

/** The latest `Date`. */
const LAST_DATE_MS = 8.64e15;

export function borrowNameOf({ product, binding, user }: Pick<BorrowRecord, 'product' | 'binding' | 'user'>) {
  return `${nameOf('borrow', product)}${binding}@${encodePart(user.normalize('NFC').trim())}`;
}

export async function storeRecord({ storage }: Account, { name, record }: StoredRecord): Promise<void> {
  await storage.write(name, JSON.stringify({ ...record, version: STORED_VERSION }));
}

/** Returns null if it is not stored. Throws a `BorrowError` if it cannot be read. */
export async function loadRecord({ storage }: Account, name: string): Promise<BorrowRecord | null> {
  const text = await storage.read(name);
  return text === null ? null : readRecord(text);
}

/** All of the product, and an error for each that cannot be read. */
export async function listRecords(account: Account): Promise<readonly (StoredRecord | BorrowError)[]> {
  const names = await account.storage.list(nameOf('borrow', account.product));
  const found: (StoredRecord | BorrowError)[] = [];
  for (const name of names) {
    try {
      const record = await loadRecord(account, name);
      if (record !== null) found.push({ name, record });
    } catch (error) {
      if (!(error instanceof BorrowError)) throw error;
      found.push(error);
    }
  }
  return found;
}

/**
 * Returns the slot to the server that has lent it, and forgets it, whatever clock and proof say. If another
 * program has returned it, the user may have a new slot, which must stay: then `false`.
 */
export async function giveBackRecord(account: Account, { name, record }: StoredRecord): Promise<boolean> {
  const { user, lent, licenseId, binding } = record;
  if ((await account.storage.read(name)) === null) return false;
  const store = account.servers.storeOf(binding);
  const options = store === undefined ? {} : { store };
  await returnSlot({ ...account, user, instance: undefined }, lent?.licenseId ?? licenseId, options);
  await account.storage.remove(name);
  return true;
}

function readRecord(text: string): BorrowRecord {
  try {
    const record = JSON.parse(text) as BorrowRecord & { version: unknown };
    if (isStoredByNewer(record.version)) {
      throw new BorrowError('borrow_unreadable', 'The borrow was stored by a newer version of the client.');
    }
    // Bytes that are not UTF-8 are read as this letter.
    if (record.version === STORED_VERSION && isComplete(record) && !text.includes('\uFFFD')) return record;
  } catch (error) {
    if (error instanceof BerthError) throw error;
    throw new BorrowError('borrow_unreadable', 'The stored borrow cannot be read.', error);
  }
  throw new BorrowError('borrow_unreadable', 'The stored borrow is damaged.');
}

function isComplete({ product, user, licenseId, mark, binding, asked, lent, seenMs }: BorrowRecord): boolean {
  return (
    [product, user, mark, binding].every(isText) &&
    isLicense(licenseId) &&
    isDate(seenMs) &&
    (asked === null || asked.until === null || isText(asked.until)) &&
    (lent === null
      ? asked !== null
      : isLicense(lent.licenseId) && isDate(lent.untilMs) && isProof(lent.proof))
  );
}

function isProof(proof: Proof | null): boolean {
  return proof === null || [proof.grant, proof.certificate, proof.nonce].every(isText);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isLicense(value: unknown): boolean {
  return value === null || Number.isSafeInteger(value);
}

function isDate(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= LAST_DATE_MS;
}
