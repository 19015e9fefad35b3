import { DAY_MS, type Instant, say } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { complain, orWell, type Verdict, warn } from './finding.ts';

/** Certificates from the cloud are renewed 45 days before their end. */
const SOON_DAYS = 30;

/** Applications may refuse to work with a server whose certificate has ended. */
export function judgeGrants(licenses: readonly License[], now: Instant): readonly Verdict[] {
  const certified = licenses.filter(({ tie }) => tie.certificate !== undefined).length;
  return orWell(
    licenses.map((license) => judgeEnd(license, now)),
    `Of ${licenses.length} licenses, ${certified} have a certificate of the vendor`,
  );
}

function judgeEnd({ id, source, tie: { certificate } }: License, now: Instant): Verdict | null {
  if (certificate === undefined || now < certificate.expiresAt - SOON_DAYS * DAY_MS) return null;
  const which = `The certificate for the grants of license ${id}`;
  const advice =
    source === 'cloud'
      ? 'Run "berth license sync". If that does not help, ask the vendor whether a key waits for approval.'
      : 'Ask the vendor for a newer license file, or for a certificate ("berth identity certify").';
  if (now < certificate.expiresAt) return warn(`${which} ends on ${say(certificate.expiresAt)}.`, advice);
  return complain(`${which} has ended: applications that ask for one refuse this server.`, advice);
}
