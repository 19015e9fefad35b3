import { BorrowError } from '../errors.ts';
import type { Grant } from '../proof/verifier.ts';
import type { Account } from './account.ts';
import {
  type BorrowRecord,
  giveBackRecord,
  type Lent,
  loadRecord,
  type StoredRecord,
  storeRecord,
} from './borrow-record.ts';
import { countReturns, endHere } from './held-here.ts';
import { proveRecord } from './prove-record.ts';
import { settleClock, TOLERATED_MS } from './settle-clock.ts';

/**
 * A slot that is held without network until a date, stored so that the next start of the program finds it.
 */
export class Borrow {
  readonly #account: Account;
  readonly #name: string;
  #record: BorrowRecord;
  #lent: Lent;
  #grant: Grant | null;
  readonly #returns: number;
  #isMissing = false;

  /** @internal */
  constructor(account: Account, { name, record }: StoredRecord, lent: Lent, grant: Grant | null) {
    this.#account = account;
    this.#name = name;
    this.#record = record;
    this.#lent = lent;
    this.#grant = grant;
    this.#returns = countReturns(account.environment, name);
  }

  get product(): string {
    return this.#record.product;
  }

  get user(): string {
    return this.#grant?.user ?? this.#record.user;
  }

  get licenseId(): number | null {
    return this.#lent.licenseId;
  }

  get until(): Date {
    return new Date(this.#lent.untilMs);
  }

  /** The server: the public id of its store, or what stands for its addresses. */
  get store(): string {
    return this.#record.binding;
  }

  /** What the server has signed, such as the limits of the license; `null` without `vendorKey`. */
  get grant(): Grant | null {
    return this.#grant;
  }

  /** Whether it may be used now. */
  get isValid(): boolean {
    return this.#findFault() === null;
  }

  /**
   * Throws a `BorrowError` if it may not be used now, and notes the time. Ask every few minutes. If the clock
   * is in doubt, the server that has lent it is asked.
   */
  async check(): Promise<void> {
    await this.#refresh();
    const fault = this.#findFault();
    const nowMs = this.#account.environment.readWallMs();
    if (fault?.code === 'clock_set_back') return this.#note(await this.#settle(fault));
    const noted = this.#note(Math.max(this.#record.seenMs, nowMs));
    if (fault === null) return noted;
    // Noted as well: a borrow that has ended must not come back with an earlier clock.
    await noted.catch(() => {});
    throw fault;
  }

  /**
   * Gives the slot back before the date, and releases the `Slot` of this program that it was borrowed by.
   * Does the same if the borrow was recalled meanwhile. Throws if its server cannot be reached: then it
   * stays borrowed.
   */
  async giveBack(): Promise<void> {
    const stored = { name: this.#name, record: this.#record };
    const wasReturned = await giveBackRecord(this.#account, stored);
    await endHere(this.#account.environment, stored, wasReturned);
  }

  /** By this object, by another one for the same borrow, or by another program. */
  get #isGivenBack(): boolean {
    return this.#isMissing || countReturns(this.#account.environment, this.#name) !== this.#returns;
  }

  /** Another program may have given it back, or have borrowed again. */
  async #refresh(): Promise<void> {
    const stored = this.#isGivenBack ? null : await this.#load();
    if (stored === null) {
      this.#isMissing = true;
      throw new BorrowError('borrow_ended', 'The borrow was given back.');
    }
    if (stored.lent !== null && stored.lent.untilMs !== this.#lent.untilMs) {
      this.#grant = await proveRecord(this.#account, stored, stored.lent);
      this.#lent = stored.lent;
    }
    this.#record = stored;
  }

  /** A damaged file is written again. */
  async #load(): Promise<BorrowRecord | null> {
    return loadRecord(this.#account, this.#name).catch((error) => {
      if (error instanceof BorrowError) return this.#record;
      throw error;
    });
  }

  async #note(seenMs: number): Promise<void> {
    this.#record = { ...this.#record, seenMs };
    await storeRecord(this.#account, { name: this.#name, record: this.#record });
    // While it was being stored.
    if (this.#isGivenBack) await this.#account.storage.remove(this.#name);
  }

  /** The time that counts from now on. Throws if it is still in doubt, or if the borrow is over. */
  async #settle(doubt: BorrowError): Promise<number> {
    const verdict = await settleClock(this.#account, this.#record, this.#lent);
    if (typeof verdict === 'number') return verdict;
    if (verdict === 'in_doubt') throw doubt;
    // Asking has taken a slot.
    if (verdict === 'not_borrowed') await this.giveBack().catch(() => {});
    throw new BorrowError('borrow_ended', 'The borrow is over: the server does not have it any more.');
  }

  #findFault(): BorrowError | null {
    if (this.#isGivenBack) return new BorrowError('borrow_ended', 'The borrow was given back.');
    const nowMs = this.#account.environment.readWallMs();
    const { untilMs } = this.#lent;
    if (nowMs >= untilMs) {
      return new BorrowError('borrow_ended', `The borrow ended at ${new Date(untilMs).toISOString()}.`);
    }
    const issuedMs = this.#grant === null ? 0 : Date.parse(this.#grant.issued_at);
    const earliestMs = Math.max(this.#record.seenMs, issuedMs);
    if (nowMs >= earliestMs - TOLERATED_MS) return null;
    const seen = new Date(earliestMs).toISOString();
    return new BorrowError('clock_set_back', `The clock was set back: it was ${seen} before.`);
  }
}
