import { BerthError, BorrowError } from '../errors.ts';
import { toName } from '../proof/verifier.ts';
import type { Account } from './account.ts';
import { Borrow } from './borrow.ts';
import { type BorrowRecord, giveBackRecord, listRecords, type StoredRecord } from './borrow-record.ts';
import { endHere } from './held-here.ts';
import { judgeComputer, proveRecord } from './prove-record.ts';
import { SlotRequests } from './proven-lease.ts';
import { askForBorrow } from './take-borrow.ts';

/** A borrow as it is stored, whether it can be used or not. */
export class StoredBorrow {
  readonly #account: Account;
  readonly #stored: StoredRecord;

  /** @internal */
  constructor(account: Account, stored: StoredRecord) {
    this.#account = account;
    this.#stored = stored;
  }

  get product(): string {
    return this.#stored.record.product;
  }

  get user(): string {
    return this.#stored.record.user;
  }

  get licenseId(): number | null {
    const { lent, licenseId } = this.#stored.record;
    return lent?.licenseId ?? licenseId;
  }

  /** `null` if it was asked for, and the answer is unknown. */
  get until(): Date | null {
    const { lent } = this.#stored.record;
    return lent === null ? null : new Date(lent.untilMs);
  }

  /** The server: the public id of its store, or what stands for its addresses. */
  get store(): string {
    return this.#stored.record.binding;
  }

  /**
   * As that of a `Borrow`; works whatever the clock says. Throws if its server cannot be reached: then it
   * stays borrowed.
   */
  async giveBack(): Promise<void> {
    const wasReturned = await giveBackRecord(this.#account, this.#stored);
    await endHere(this.#account.environment, this.#stored, wasReturned);
  }
}

/**
 * All that are stored for the user. `isDefaultUser`: also those that were borrowed by a slot, whose user was
 * named after the program.
 */
export async function listBorrows(
  account: Account,
  isDefaultUser: boolean,
): Promise<readonly StoredBorrow[]> {
  const { own } = await findRecords(account, isDefaultUser);
  return own.map((stored) => new StoredBorrow(account, stored));
}

/** Returns the usable borrow that ends last. */
export async function resumeBorrow(account: Account, isDefaultUser: boolean): Promise<Borrow> {
  const { own, unreadable } = await findRecords(account, isDefaultUser);
  const faults: BerthError[] = [];
  for (const stored of own.toSorted(byEnd)) {
    try {
      return await openBorrow(account, stored);
    } catch (error) {
      if (!(error instanceof BerthError)) throw error;
      faults.push(error);
    }
  }
  const message = `No slot of "${account.product}" is borrowed here by "${account.user}".`;
  throw faults[0] ?? unreadable[0] ?? new BorrowError('no_borrow', message);
}

async function findRecords(account: Account, isDefaultUser: boolean) {
  const found = await listRecords(account);
  const unreadable = found.filter((one) => one instanceof BorrowError);
  const own = found.filter(
    (one): one is StoredRecord => !(one instanceof BorrowError) && isOwn(account, one.record, isDefaultUser),
  );
  return { own, unreadable };
}

function isOwn({ user, environment }: Account, record: BorrowRecord, isDefaultUser: boolean): boolean {
  const [given, stored] = [toName(user), toName(record.user)];
  // A browser has no name of its own, so the user of the borrow was made up.
  const isOfProgram = environment.host.hostname === null || stored.startsWith(`${given}/`);
  return stored === given || (isDefaultUser && isOfProgram);
}

async function openBorrow(account: Account, found: StoredRecord): Promise<Borrow> {
  await judgeComputer(account, found.record);
  const { name, record } = found.record.asked === null ? found : await complete(account, found);
  const { lent, user } = record;
  if (lent === null) throw new BorrowError('no_borrow', 'The borrow was not completed.');
  const grant = await proveRecord(account, record, lent);
  const borrow = new Borrow({ ...account, user: grant?.user ?? user }, { name, record }, lent, grant);
  await borrow.check();
  return borrow;
}

/** Asks once more for what was asked for. If that fails, what was lent before still counts. */
async function complete(account: Account, asking: StoredRecord): Promise<StoredRecord> {
  const asker = { ...account, user: asking.record.user };
  try {
    return (await askForBorrow(asker, new SlotRequests(asker), asking, true)).stored;
  } catch (error) {
    if (asking.record.lent === null) throw error;
    return asking;
  }
}

function byEnd(a: StoredRecord, b: StoredRecord): number {
  return (b.record.lent?.untilMs ?? 0) - (a.record.lent?.untilMs ?? 0);
}
