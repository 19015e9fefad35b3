import { type Duration, parseDuration } from '../duration.ts';
import { BorrowError, ProofError } from '../errors.ts';
import { proveFor, type SlotRequests } from '../proof/proven-lease.ts';
import { type Grant, type Proof, toName } from '../proof/verifier.ts';
import { nameOf } from '../storage-name.ts';
import { type Account, holderOf, licenseIdOf, returnSlot } from './account.ts';
import type { Lease } from './lease.ts';

export interface BorrowOptions {
  /** The date, or for how long. Without it, as long as the license allows. */
  readonly until?: Date | Duration;
}

/** What is stored of a borrow. */
interface BorrowRecord {
  readonly product: string;
  readonly user: string;
  readonly licenseId: number | null;
  /** Milliseconds of the wall clock. */
  readonly untilMs: number;
  /** The latest wall clock that this borrow was used with. */
  readonly seenMs: number;
  /** With the vendor's key: what proves all of this. */
  readonly proof: Proof | null;
}

/** A clock may be corrected by this much without being suspicious. */
const TOLERATED_SET_BACK_MS = 5 * 60_000;
/** The last one that a `Date` can be. */
const LAST_DATE_MS = 8.64e15;

/**
 * A slot that is held without network until a date, stored so that the next start of the program finds it.
 */
export class Borrow {
  readonly #account: Account;
  readonly #grant: Grant | null;
  #record: BorrowRecord;
  #isGivenBack = false;
  #notifyEnd: () => Promise<unknown> = async () => {};

  /** @internal */
  constructor(account: Account, record: BorrowRecord, grant: Grant | null) {
    this.#account = account;
    this.#grant = grant;
    this.#record = record;
  }

  get product(): string {
    return this.#record.product;
  }

  get user(): string {
    return this.#record.user;
  }

  get licenseId(): number | null {
    return this.#record.licenseId;
  }

  get until(): Date {
    return new Date(this.#record.untilMs);
  }

  /** What the server has signed, such as the limits of the license; `null` without `vendorKey`. */
  get grant(): Grant | null {
    return this.#grant;
  }

  /** Whether it may be used now. */
  get isValid(): boolean {
    return this.#findFault() === null;
  }

  /** Throws a `BorrowError` if it may not be used now, and notes the time. Ask every few minutes. */
  async check(): Promise<void> {
    const fault = this.#findFault();
    // Nothing of it is stored any more.
    if (this.#isGivenBack) throw fault;
    const seenMs = Math.max(this.#record.seenMs, this.#account.environment.readWallMs());
    this.#record = { ...this.#record, seenMs };
    const stored = storeBorrow(this.#account, this.#record);
    if (fault === null) return stored;
    // Noted as well: a borrow that has ended must not come back with an earlier clock.
    await stored.catch(() => {});
    throw fault;
  }

  /**
   * Gives the slot back before the date, and releases the `Slot` that it was borrowed by. Does the same if
   * the borrow was recalled meanwhile. Throws if no server can be reached: then it stays borrowed.
   */
  async giveBack(): Promise<void> {
    await returnSlot(this.#account, this.#record.licenseId);
    this.#isGivenBack = true;
    await this.#account.environment.storage.remove(nameOf('borrow', this.#account.product));
    await this.#notifyEnd();
  }

  /** @internal */
  onEnd(notify: () => Promise<unknown>): void {
    this.#notifyEnd = notify;
  }

  #findFault(): BorrowError | null {
    if (this.#isGivenBack) return new BorrowError('borrow_ended', 'The borrow was given back.');
    const nowMs = this.#account.environment.readWallMs();
    const { untilMs, seenMs } = this.#record;
    if (nowMs >= untilMs) {
      return new BorrowError('borrow_ended', `The borrow ended at ${new Date(untilMs).toISOString()}.`);
    }
    const earliestMs = Math.max(seenMs, this.#grant === null ? 0 : Date.parse(this.#grant.issued_at));
    if (nowMs >= earliestMs - TOLERATED_SET_BACK_MS) return null;
    const seen = new Date(earliestMs).toISOString();
    return new BorrowError('clock_set_back', `The clock was set back: it was ${seen} before.`);
  }
}

export async function borrowAs(
  account: Account,
  requests: SlotRequests,
  licenseId: number | null,
  { until }: BorrowOptions,
): Promise<{ readonly borrow: Borrow; readonly lease: Lease }> {
  const date = until === undefined ? null : dateOf(account, until);
  const fields = { ...holderOf(account, licenseId), ...(date === null ? {} : { borrowed_until: date }) };
  const { answer, lease, grant, proof } = await requests.send('borrow', fields);
  const record = {
    product: account.product,
    user: account.user,
    licenseId: grant?.license_id ?? licenseIdOf(answer),
    untilMs: Date.parse(grant?.valid_until ?? String(answer.fields.borrowed_until)),
    seenMs: account.environment.readWallMs(),
    proof,
  };
  await storeBorrow(account, record);
  return { borrow: new Borrow(account, record, grant), lease };
}

/**
 * The borrow of an earlier start of the program, checked; `null` if there is none. `isDefaultUser`: it may
 * have been borrowed by a slot, whose user was named after the program.
 */
export async function resumeBorrow(account: Account, isDefaultUser: boolean): Promise<Borrow | null> {
  const text = await account.environment.storage.read(nameOf('borrow', account.product));
  if (text === null) return null;
  const stored = readRecord(text);
  judgeOwner(account, stored, isDefaultUser);
  const grant = account.verifier === null ? null : await proveRecord(account, stored);
  // Case may differ.
  const record = { ...stored, user: grant?.user ?? stored.user };
  const borrow = new Borrow({ ...account, user: record.user }, record, grant);
  await borrow.check();
  return borrow;
}

function judgeOwner({ product, user, environment }: Account, record: BorrowRecord, isDefaultUser: boolean) {
  if (record.product !== product) {
    throw new ProofError(`It is of another product, "${record.product}".`).ofBorrow();
  }
  const [given, stored] = [toName(user), toName(record.user)];
  // A browser has no name of its own, so the user of the borrow was made up.
  const isOurs = environment.host.hostname === null || stored.startsWith(`${given}/`);
  if (stored === given || (isDefaultUser && isOurs)) return;
  throw new ProofError(`It is of another user, "${record.user}", and this is "${user}".`).ofBorrow(
    'Give "user": the one who has borrowed it. Where the name of the host changes, always give one.',
  );
}

async function proveRecord(account: Account, record: BorrowRecord): Promise<Grant> {
  try {
    if (record.proof === null) throw new ProofError('It was stored without a grant.');
    const grant = await proveFor({ ...account, user: record.user }, record.proof, null);
    if (!grant.borrowed) throw new ProofError('The grant is not for a borrow.');
    const isAsGranted =
      record.licenseId === grant.license_id && record.untilMs === Date.parse(grant.valid_until);
    if (isAsGranted) return grant;
    throw new ProofError('It says something else than its grant.');
  } catch (error) {
    throw error instanceof ProofError ? error.ofBorrow() : error;
  }
}

function dateOf({ environment }: Account, until: Date | Duration): string {
  if (until instanceof Date) return until.toISOString();
  return new Date(environment.readWallMs() + parseDuration('until', until)).toISOString();
}

async function storeBorrow({ environment, product }: Account, record: BorrowRecord): Promise<void> {
  await environment.storage.write(nameOf('borrow', product), JSON.stringify(record));
}

function readRecord(text: string): BorrowRecord {
  try {
    const record = JSON.parse(text) as BorrowRecord;
    // Bytes that are no text are read as this letter.
    if (isComplete(record) && !text.includes('\uFFFD')) return record;
  } catch (error) {
    throw new BorrowError('borrow_unreadable', 'The stored borrow cannot be read.', error);
  }
  throw new BorrowError('borrow_unreadable', 'The stored borrow is damaged.');
}

function isComplete({ product, user, licenseId, untilMs, seenMs, proof }: BorrowRecord): boolean {
  const texts = [product, user, ...(proof === null ? [] : [proof.grant, proof.certificate, proof.nonce])];
  return (
    texts.every((one) => typeof one === 'string') &&
    (licenseId === null || Number.isSafeInteger(licenseId)) &&
    [untilMs, seenMs].every((one) => typeof one === 'number' && Math.abs(one) <= LAST_DATE_MS)
  );
}
