import { BerthError, DeniedError } from '../errors.ts';
import { ENDS_BY_WAITING } from '../refusals.ts';
import { type Account, holderOf } from './account.ts';
import type { BorrowRecord, Lent } from './borrow-record.ts';
import { proveAnswer } from './proven-lease.ts';

/** A clock may be corrected by this much without being suspicious. */
export const TOLERATED_MS = 5 * 60_000;

/** The time now; or what the server says of the borrow instead. */
type Verdict = number | 'in_doubt' | 'not_borrowed' | 'over';

/**
 * The clock is earlier than it was before: it is wrong now, or was wrong then. The server that has lent the
 * borrow can tell, and the doubt ends if the clock is right by it.
 */
export async function settleClock(account: Account, record: BorrowRecord, lent: Lent): Promise<Verdict> {
  try {
    const ask = account.verifier === null ? askForTime : askForGrant;
    return await ask(account, record, lent);
  } catch (error) {
    // The server has no slot for this user, so it has no borrow, either.
    if (error instanceof DeniedError && ENDS_BY_WAITING.has(error.code)) return 'over';
    if (error instanceof BerthError) return 'in_doubt';
    throw error;
  }
}

/** Nothing is proven, so this never moves the end of the borrow. */
async function askForTime({ servers, environment }: Account, { binding }: BorrowRecord): Promise<Verdict> {
  const timeMs = await servers.readTimeMs(servers.storeOf(binding));
  const nowMs = environment.readWallMs();
  return timeMs !== null && isRight(nowMs, timeMs) ? nowMs : 'in_doubt';
}

/** The grant says when it was issued. */
async function askForGrant(account: Account, record: BorrowRecord, lent: Lent): Promise<Verdict> {
  const { servers, environment } = account;
  const { user, mark, binding } = record;
  const nonce = environment.createId();
  const store = servers.storeOf(binding);
  const fields = { ...holderOf({ ...account, user }, lent.licenseId), device_mark: mark, nonce };
  const answer = await servers.post('register', fields, store === undefined ? {} : { store });
  // This clock cannot tell whether the certificate has expired.
  const facts = { nonce, feature: null, nowMs: null };
  const { grant } = await proveAnswer({ ...account, user }, answer, facts);
  if (!grant.borrowed) return 'not_borrowed';
  if (Date.parse(grant.valid_until) < lent.untilMs) return 'over';
  const issuedMs = Date.parse(grant.issued_at);
  return isRight(environment.readWallMs(), issuedMs) ? issuedMs : 'in_doubt';
}

function isRight(nowMs: number, timeMs: number): boolean {
  return Math.abs(nowMs - timeMs) <= TOLERATED_MS;
}
