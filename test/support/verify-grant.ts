import type { KeyObject } from 'node:crypto';
import { findExcess } from '@berth/protocol/grant/find-excess';
import { GRANT_TYPE, type GrantClaims } from '@berth/protocol/grant/grant-claims';
import { type OkpJwk, readJws, readOkpKey } from '@berth/protocol/grant/jws';
import { type ReadCertificate, readCertificate } from '@berth/protocol/grant/server-certificate';

/** What an application has when it verifies a grant, as `docs/grants.md` says. */
interface Verification {
  /** The vendor's public key, which the application contains; while the vendor changes it, both. */
  readonly vendorKey: KeyObject | readonly KeyObject[];
  readonly grant: string;
  /** `null`: the server sent none. */
  readonly certificate: string | null;
  readonly otherCertificates?: readonly string[];
  /** What the application made up for its request. */
  readonly nonce: string;
  /** In milliseconds. */
  readonly now: number;
  /** Keys of the server that the application knows from before. */
  readonly known?: readonly OkpJwk[];
}

export type Verdict =
  /** `server`: only that it is the same server as before. */
  | { readonly accepted: true; readonly by: 'vendor' | 'server'; readonly claims: GrantClaims }
  | { readonly accepted: false; readonly reason: Reason };

type Reason =
  | 'certificate_invalid'
  | 'certificate_expired'
  | 'certificate_for_another_server'
  | 'more_than_certified'
  | 'grant_invalid'
  | 'grant_expired'
  | 'other_nonce'
  | 'unknown_server';

export function verifyGrant(given: Verification): Verdict {
  const { certificate: text, otherCertificates = [], grant, nonce, now, known = [] } = given;
  const certificate = text === null ? null : findCertificate([text, ...otherCertificates], given);
  if (text !== null && certificate === null) return refuse('certificate_invalid');
  if (certificate !== null && now >= certificate.expiresAt) return refuse('certificate_expired');
  const jws = readJws(grant, 'EdDSA', GRANT_TYPE);
  if (jws === null) return refuse('grant_invalid');
  const keys = (certificate === null ? known : [certificate.key]).map((jwk) => readOkpKey(jwk) as KeyObject);
  if (keys.length === 0) return refuse('unknown_server');
  if (!keys.some((key) => jws.isSignedBy(key))) return refuse('grant_invalid');
  const claims = jws.claims as unknown as GrantClaims;
  if (claims.nonce !== nonce) return refuse('other_nonce');
  const excess = certificate === null ? null : judge(certificate, claims);
  if (excess !== null) return refuse(excess);
  if (now >= Date.parse(claims.valid_until)) return refuse('grant_expired');
  return { accepted: true, by: certificate === null ? 'server' : 'vendor', claims };
}

function findCertificate(texts: readonly string[], { vendorKey }: Verification): ReadCertificate | null {
  const read = texts.flatMap((text) => [vendorKey].flat().map((key) => readCertificate(text, key)));
  return read.find((one) => one !== null) ?? null;
}

function judge({ hardwareId, licenses, expiresAt }: ReadCertificate, claims: GrantClaims): Reason | null {
  const certified = licenses.find(({ license_id: id }) => id === claims.license_id);
  if (claims.hardware_id !== hardwareId || certified === undefined) return 'certificate_for_another_server';
  if (Date.parse(claims.issued_at) >= expiresAt) return 'certificate_expired';
  return findExcess(certified, claims) === null ? null : 'more_than_certified';
}

function refuse(reason: Reason): Verdict {
  return { accepted: false, reason };
}
