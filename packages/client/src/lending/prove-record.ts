import { ProofError } from '../errors.ts';
import type { Grant } from '../proof/verifier.ts';
import type { Account } from './account.ts';
import type { BorrowRecord, Lent } from './borrow-record.ts';
import { proveFor } from './proven-lease.ts';
import { judgeBorrow } from './take-borrow.ts';

const ONLY_THERE = 'Use it there, or give it back there, and borrow on this computer.';

/** Throws a `ProofError` if it was made on another computer, whether that is proven or not. */
export async function judgeComputer(account: Account, { product, mark }: BorrowRecord): Promise<void> {
  if (product !== account.product) throw new ProofError(`It is of another product, "${product}".`).ofBorrow();
  if (mark === (await account.findMark())) return;
  throw new ProofError('It was borrowed on another computer.').ofBorrow(ONLY_THERE);
}

/** What the server has signed; `null` without the vendor's key. Throws a `ProofError` if it does not fit. */
export async function proveRecord(account: Account, record: BorrowRecord, lent: Lent): Promise<Grant | null> {
  if (account.verifier === null) return null;
  try {
    const { user, mark } = record;
    if (lent.proof === null) throw new ProofError('It was stored without a grant.');
    const grant = await proveFor({ ...account, user }, lent.proof, { feature: null, nowMs: null });
    judgeBorrow(grant, mark);
    const isAsGranted = lent.licenseId === grant.license_id && lent.untilMs === Date.parse(grant.valid_until);
    if (isAsGranted) return grant;
    throw new ProofError('It does not match its signed grant.');
  } catch (error) {
    throw error instanceof ProofError ? error.ofBorrow() : error;
  }
}
