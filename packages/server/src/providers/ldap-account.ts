import type { Instant } from '../core/nouns/instant.ts';

/** What Active Directory and Samba say about an account. Other directories do not have them. */
export const ACCOUNT_ATTRIBUTES = ['userAccountControl', 'accountExpires'] as const;

/** A bit of `userAccountControl`. */
const DISABLED = 2n;
/** `accountExpires` counts hundreds of nanoseconds since 1601. Both 0 and the largest number mean never. */
const TICKS_PER_MS = 10_000n;
const FROM_1601_TO_1970_MS = 11_644_473_600_000n;

/** The values of attributes by their names in lower case. */
export type LdapEntry = Readonly<Record<string, readonly string[]>>;

/** Why an account counts as if it were not there; `null`: it counts. */
export function findAbsence(entry: LdapEntry, now: Instant): 'is disabled' | 'has expired' | null {
  const [control = 0n, expires = 0n] = ACCOUNT_ATTRIBUTES.map((name) => {
    const [text = ''] = entry[name.toLowerCase()] ?? [];
    return /^-?\d{1,20}$/.test(text) ? BigInt(text) : 0n;
  });
  if ((control & DISABLED) !== 0n) return 'is disabled';
  const hasExpired = expires !== 0n && expires / TICKS_PER_MS - FROM_1601_TO_1970_MS <= BigInt(now);
  return hasExpired ? 'has expired' : null;
}
