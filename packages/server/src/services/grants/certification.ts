import { writeKeyStatement } from '@berth/protocol/grant/key-statement';
import type { ReadCertificate } from '@berth/protocol/grant/server-certificate';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import type { Certificate, License } from '../../core/nouns/license.ts';
import type { Store } from '../../store/store.ts';
import { readIdentityKey } from '../upkeep/identity-key.ts';
import type { GrantKeys } from './grant-keys.ts';

/** Gets the vendor's certificates for the key that signs grants. */
export interface Certification {
  /** The statement that asks for a certificate of a license; `null`: the one it has will do. */
  request(license: License | null, hardwareId: string, now: Instant): Promise<string | null>;
  /** The certificate if it is for this server, its newest key and the license; otherwise `null`. */
  accept(offered: ReadCertificate | null, expected: Expected): Promise<Certificate | null>;
}

interface Expected {
  readonly licenseId: number;
  readonly hardwareId: string | null;
}

export function createCertification(store: Store, keys: GrantKeys): Certification {
  return {
    async request(license, hardwareId, now) {
      const [{ kid, jwk }] = await keys.list();
      if (license !== null && !isDue(license, kid, now)) return null;
      const { privateKey } = await readIdentityKey(store);
      return writeKeyStatement(hardwareId, jwk, privateKey);
    },
    async accept(offered, { licenseId, hardwareId }) {
      if (offered === null || offered.hardwareId !== hardwareId) return null;
      const [{ kid }] = await keys.list();
      if (offered.kid !== kid || !offered.licenses.some(({ license_id: id }) => id === licenseId))
        return null;
      const { text, issuedAt, expiresAt } = offered;
      return { text, kid, issuedAt: instant(issuedAt), expiresAt: instant(expiresAt) };
    },
  };
}

/** Asks again at half its life, so that a cloud that is away for weeks does no harm. */
function isDue({ tie }: License, kid: string, now: Instant): boolean {
  const { certificate } = tie;
  if (certificate === undefined || certificate.kid !== kid) return true;
  return now >= (certificate.issuedAt + certificate.expiresAt) / 2;
}
