import { findExcess } from '@berth/protocol/grant/find-excess';
import type { GrantedTerms } from '@berth/protocol/grant/grant-claims';
import { readKnownCertificate } from '@berth/protocol/grant/server-certificate';
import type { License } from '../../core/nouns/license.ts';

/**
 * The first thing that the grants of a license claim beyond its certificate, such as a slot more; `null`:
 * nothing, or it has no certificate. The server goes on lending, but applications that verify its grants
 * refuse them.
 */
export type FindUncertified = (license: License) => string | null;

/** `present`: the claims of the license's grants. */
export function createCoverage(present: (license: License) => GrantedTerms): FindUncertified {
  return (license) => {
    const { certificate } = license.tie;
    const known = certificate === undefined ? null : readKnownCertificate(certificate.texts[0]);
    if (known === null) return null;
    const certified = known.licenses.find(({ license_id: id }) => id === license.id);
    return certified === undefined ? 'license_id' : findExcess(certified, present(license));
  };
}
