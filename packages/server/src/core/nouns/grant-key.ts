import { HOUR_MS, type Instant, later, MINUTE_MS, plus } from './instant.ts';
import type { Certificate, License } from './license.ts';

/** A key pair that signs grants. The newest signs; earlier ones stay until their grants have ended. */
export interface GrantKey {
  /** Names it: the thumbprint of its public half. */
  readonly kid: string;
  /** PKCS #8 in base64. */
  readonly privateKey: string;
  readonly createdAt: Instant;
  /** When the last grant that it may have signed has ended; `null`: it is the newest. */
  readonly endsAt: Instant | null;
}

export function isInKeySet({ endsAt }: Pick<GrantKey, 'endsAt'>, now: Instant): boolean {
  return endsAt === null || now < endsAt;
}

/**
 * The certificate that clients get with grants of a license; `null`: none is valid. One for another machine
 * proves nothing here.
 */
export function findCertificate({ tie }: License, now: Instant): Certificate | null {
  const { certificate = null, movedAt } = tie;
  return certificate !== null && movedAt === null && now < certificate.expiresAt ? certificate : null;
}

/** Servers that share a database notice a new key a little later. */
const NOTICED_MS = HOUR_MS;

/**
 * When the last grant signed by the replaced key expires. That key goes on signing for the licenses whose
 * certificate names it, until the certificate ends or is replaced by one for the new key.
 */
export function lastGrantEnd(kid: string, licenses: readonly License[], now: Instant): Instant {
  const certificates = licenses.flatMap(({ tie }) => tie.certificate ?? []);
  const own = certificates.filter((certificate) => certificate.kid === kid);
  const signsUntil = own.map(({ expiresAt }) => expiresAt).reduce(later, now);
  const longestMs = licenses.map(longestTermMs).reduce((a, b) => Math.max(a, b), 0);
  return plus(signsUntil, longestMs + NOTICED_MS);
}

function longestTermMs({ timeoutMinutes, maxBorrowHours, features }: License): number {
  const own = { timeoutMinutes, maxBorrowHours };
  const terms = [own, ...features.flatMap(({ floating }) => floating ?? [])];
  return Math.max(
    ...terms.map((term) => Math.max(term.timeoutMinutes * MINUTE_MS, term.maxBorrowHours * HOUR_MS)),
  );
}
