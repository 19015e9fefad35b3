import type { CertificateDoubt } from '../nouns/audit-event.ts';
import { DAY_MS, type Instant, say } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { complain, orWell, type Verdict, warn } from './finding.ts';

interface GrantFacts {
  readonly licenses: readonly GrantedLicense[];
  readonly doubts: readonly Doubt[];
}

interface GrantedLicense {
  readonly license: License;
  /** What its grants claim beyond its certificate; `null`: nothing. */
  readonly uncertified: string | null;
}

/** A certificate that the vendor has sent for another key, or has not sent. */
export interface Doubt {
  readonly kind: CertificateDoubt['kind'];
  readonly licenseId: number;
}

/** Certificates from the cloud are renewed every day, and most are valid for 30. */
const SOON_DAYS = 10;

/** Applications may refuse a server whose certificate has ended, or does not cover its grants. */
export function judgeGrants({ licenses, doubts }: GrantFacts, now: Instant): readonly Verdict[] {
  const certified = licenses.filter(({ license }) => license.tie.certificate !== undefined).length;
  return orWell(
    [...doubts.map(judgeDoubt), ...licenses.flatMap((one) => [judgeTerms(one), judgeEnd(one.license, now)])],
    `Of ${licenses.length} licenses, ${certified} have a certificate of the vendor`,
  );
}

function judgeDoubt({ kind, licenseId: id }: Doubt): Verdict {
  return kind === 'certificate_wrong'
    ? complain(
        `The vendor has certified another key than the one of this server for license ${id}: somebody may ` +
          'pass off their own server as this one.',
        'Compare the grant key that "berth identity" shows with the one that the vendor has certified, and ' +
          'check who can change requests on their way to the vendor. Then run "berth license sync".',
      )
    : complain(
        `The vendor no longer certifies the key of this server for license ${id}.`,
        'Ask the vendor whether a key waits for approval. Applications accept the certificate that is here ' +
          'until it ends.',
      );
}

function judgeTerms({ license, uncertified }: GrantedLicense): Verdict | null {
  if (uncertified === null) return null;
  return complain(
    `License ${license.id} grants more than its certificate says (${uncertified}): applications that ask ` +
      'for one refuse its slots.',
    adviseNewer(license),
  );
}

function adviseNewer({ source }: License): string {
  return source === 'cloud'
    ? 'Run "berth license sync". If that does not help, ask the vendor whether a key waits for approval.'
    : 'Ask the vendor for a newer license file, or for a certificate ("berth identity certify").';
}

function judgeEnd(license: License, now: Instant): Verdict | null {
  const { certificate } = license.tie;
  if (certificate === undefined || now < certificate.expiresAt - SOON_DAYS * DAY_MS) return null;
  const which = `The certificate for the grants of license ${license.id}`;
  const advice = adviseNewer(license);
  if (now < certificate.expiresAt) return warn(`${which} ends on ${say(certificate.expiresAt)}.`, advice);
  return complain(`${which} has ended: applications that ask for one refuse this server.`, advice);
}
