import type { BorrowUntil } from '../command.ts';
import { earlier, type Instant, MINUTE_MS, say } from '../nouns/instant.ts';
import { type Refused, refuse } from '../outcome.ts';

/** Clients' clocks differ: a date this little beyond the latest allowed one is cut to it, not refused. */
export const BORROW_TOLERANCE_MS = 5 * MINUTE_MS;

/** The instant that was asked for, cut to the latest allowed one, or the refusal that says which that is. */
export function resolveUntil(until: BorrowUntil, latest: Instant, now: Instant): Instant | Refused {
  if (until === 'unreadable') return refuseUntil('cannot be read as a date', latest);
  if (latest <= now) return refuseUntil('is not possible: the license is no longer valid', latest);
  const wanted = until === 'longest' ? latest : until;
  if (wanted <= now) return refuseUntil('is not in the future', latest);
  if (wanted > latest + BORROW_TOLERANCE_MS) return refuseUntil('is later than the license allows', latest);
  return earlier(wanted, latest);
}

function refuseUntil(problem: string, latestUntil: Instant): Refused {
  return refuse(
    'borrow_until_not_valid',
    `"borrowed_until" ${problem}. The latest that the license allows now is ${say(latestUntil)}.`,
    { latestUntil },
  );
}

export function refuseBorrowing(name: string): Refused {
  return refuse('license_borrow_not_allowed', `The license of "${name}" does not allow borrowing.`);
}
