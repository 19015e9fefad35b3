import type { BorrowUntil } from '../command.ts';
import { type FloatingFeature, findFeature, isFeatureExpired, isFloating } from '../nouns/feature-slot.ts';
import { earlier, HOUR_MS, type Instant, MINUTE_MS, plus, say } from '../nouns/instant.ts';
import { allowsBorrowing, type License, latestBorrowUntil } from '../nouns/license.ts';
import { heldUntil, type Registration } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { refuseFeatureExpired, refuseUnknownFeature } from '../refusals.ts';

/** Clients' clocks differ, so a date that is late by this little is cut to the latest, and not refused. */
export const BORROW_TOLERANCE_MS = 5 * MINUTE_MS;

/** The latest date that a rule allows, and that rule in a few words. */
export interface RuledUntil {
  readonly latest: Instant;
  readonly rule: string;
}

/** The end of a borrow of the license, or why there is none. `byRules`: `null` if they name no date. */
export function resolveLicenseUntil(
  until: BorrowUntil,
  license: License,
  byRules: RuledUntil | null,
  now: Instant,
): Instant | Refused {
  if (!allowsBorrowing(license)) return refuseBorrowing(`license of "${license.product}"`);
  const latest = latestBorrowUntil(license, now);
  if (byRules === null || latest <= byRules.latest) return resolveUntil(until, latest, null, now);
  return resolveUntil(until, byRules.latest, byRules.rule, now);
}

/** The same for a feature, which is not borrowed beyond the holder's borrow or slot of the license. */
export function resolveFeatureUntil(
  until: BorrowUntil,
  { code, floating, expiresAt }: FloatingFeature,
  holder: Registration,
  now: Instant,
): Instant | Refused {
  const { canBorrow, maxBorrowHours } = floating;
  if (!canBorrow || maxBorrowHours <= 0) return refuseBorrowing(`feature "${code}"`);
  const longest = earlier(plus(now, maxBorrowHours * HOUR_MS), heldUntil(holder, now));
  return resolveUntil(until, expiresAt === null ? longest : earlier(longest, expiresAt), null, now);
}

/** `rule`: that names the latest date; `null`: the license does. */
function resolveUntil(
  until: BorrowUntil,
  latest: Instant,
  rule: string | null,
  now: Instant,
): Instant | Refused {
  if (latest <= now) return refuseInGrace();
  if (until === 'unreadable') return refuseUntil('is not a date', latest);
  const wanted = until === 'longest' ? latest : until;
  if (wanted <= now) return refuseUntil('is not in the future', latest);
  if (wanted > latest + BORROW_TOLERANCE_MS) {
    return rule === null
      ? refuseUntil('is later than the license allows', latest)
      : refuseByHours(rule, latest);
  }
  return earlier(wanted, latest);
}

function refuseUntil(problem: string, latestUntil: Instant): Refused {
  return refuse(
    'borrow_until_not_valid',
    `"borrowed_until" ${problem}. The latest date possible now is ${say(latestUntil)}.`,
    { latestUntil },
  );
}

function refuseByHours(rule: string, latestUntil: Instant): Refused {
  return refuse(
    'borrow_until_not_valid',
    `"borrowed_until" is later than the rules allow. The latest date possible now is ${say(latestUntil)}. ` +
      `Choose that one, or ask your administrator (rule: ${rule}).`,
    { rule, latestUntil },
  );
}

/** No date is possible, so none is named. */
function refuseInGrace(): Refused {
  return refuse(
    'borrow_until_not_valid',
    'Nothing can be borrowed, because the license has ended and is in its grace period. Register a slot ' +
      'instead, or renew the license.',
  );
}

function refuseBorrowing(lender: string): Refused {
  return refuse('license_borrow_not_allowed', `The ${lender} does not allow borrowing.`);
}

/**
 * Returns whether a slot is missing: a newcomer needs a free one; a holder needs none, but no borrow is
 * started or extended while a shrunk license or feature is over its limit.
 */
export function isShort(
  slots: number,
  inUse: number,
  held: Pick<Registration, 'borrowedUntil'> | null,
  until: Instant | null,
): boolean {
  if (held === null) return inUse >= slots;
  const isExtended = until !== null && (held.borrowedUntil === null || until > held.borrowedUntil);
  return inUse > slots && isExtended;
}

/** The feature if it has slots to lend now, or why it has none. */
export function chooseFloating(license: License, code: string, now: Instant): FloatingFeature | Refused {
  const feature = findFeature(license, code);
  if (feature === undefined) return refuseUnknownFeature(license, code);
  if (isFeatureExpired(feature, now)) return refuseFeatureExpired(feature);
  if (isFloating(feature)) return feature;
  return refuse('feature_not_floating', `The feature "${code}" has no slots of its own.`);
}
