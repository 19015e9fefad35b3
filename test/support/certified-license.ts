import type { CertifiedLicense } from '@berth/protocol/grant/server-certificate';
import { formatTimestamp } from '@berth/protocol/timestamp';
import { HOUR_MS } from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { presentTerms } from '../../packages/server/src/http/reply/present-grant.ts';

/** What the vendor certifies of a license: exactly what it has granted. */
export function certifiedLicense(license: License): CertifiedLicense {
  const { validUntil, graceHours } = license;
  const ends_at = validUntil === null ? null : formatTimestamp(validUntil + graceHours * HOUR_MS);
  return { ...presentTerms(license), ends_at };
}
