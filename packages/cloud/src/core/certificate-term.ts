import { licenseEnd } from './license.ts';
import type { Terms } from './terms.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Short, because certificates cannot be revoked: servers with internet renew theirs all the time. */
const USUAL_DAYS = 30;

/** As for the flags of the vendor; larger numbers are no dates. */
const MAX_DAYS = 87_600;

/** The default for files, which people have to carry to the server. */
export const CARRIED_DAYS = 365;

/**
 * When a certificate that is issued now ends: after the days that the vendor chose, or else after 30 days, or
 * as many as the license may go without a check; and with the license and its grace at the latest.
 */
export function certificateEnd(terms: Terms, chosenDays: number | null, now: number): number {
  const end = now + (chosenDays ?? usualDays(terms)) * DAY_MS;
  const last = licenseEnd(terms);
  return last === null ? end : Math.min(end, last);
}

function usualDays({ metadata: { max_offline_days: days } }: Terms): number {
  return typeof days === 'number' && days > USUAL_DAYS ? Math.min(days, MAX_DAYS) : USUAL_DAYS;
}
