import type { KeyObject } from 'node:crypto';
import { formatTimestamp, parseTimestamp } from '../timestamp.ts';
import type { GrantedTerms } from './grant-claims.ts';
import { type OkpJwk, readJws, readOkpKey, thumbprintOf, writeJws } from './jws.ts';

/** The `typ` of certificates. Nothing else that a vendor signs has it. */
const CERTIFICATE_TYPE = 'berth-server+jwt';

/** A license as the vendor has granted it to the server. A grant may claim less, never more. */
export interface CertifiedLicense extends GrantedTerms {
  /** When no slot of it is valid any more: its end and its grace period; `null`: never. */
  readonly ends_at: string | null;
}

/** The vendor's word that the holder of a key is the server with this hardware id, for these licenses. */
interface CertificateClaims {
  readonly hardware_id: string;
  readonly licenses: readonly CertifiedLicense[];
  /** The key that signs grants, as RFC 7800 writes it. */
  readonly cnf: { readonly jwk: OkpJwk & { readonly kid: string } };
  readonly issued_at: string;
  readonly expires_at: string;
  /** The same in seconds since 1970, for libraries that check them. */
  readonly iat: number;
  readonly exp: number;
}

interface CertificateFacts {
  readonly hardwareId: string;
  readonly licenses: readonly CertifiedLicense[];
  readonly key: OkpJwk;
  /** In milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** A compact JWS, signed with the key that signs the answers of the cloud and license files (RS256). */
export function writeCertificate(facts: CertificateFacts, vendorKey: KeyObject): string {
  const { hardwareId, licenses, key, issuedAt, expiresAt } = facts;
  const claims: CertificateClaims = {
    hardware_id: hardwareId,
    licenses,
    cnf: { jwk: { ...key, kid: thumbprintOf(key) } },
    issued_at: formatTimestamp(issuedAt),
    expires_at: formatTimestamp(expiresAt),
    iat: Math.floor(issuedAt / 1000),
    exp: Math.floor(expiresAt / 1000),
  };
  return writeJws({ alg: 'RS256', typ: CERTIFICATE_TYPE }, claims, vendorKey);
}

export interface ReadCertificate extends CertificateFacts {
  readonly text: string;
  readonly kid: string;
}

/** Its content if this vendor has signed it; `null` otherwise. Whether it has expired is for the caller. */
export function readCertificate(text: string, vendorKey: KeyObject): ReadCertificate | null {
  const jws = readJws(text, 'RS256', CERTIFICATE_TYPE);
  return jws?.isSignedBy(vendorKey) === true ? readClaims(text, jws.claims) : null;
}

/** The content of one that was verified before. */
export function readKnownCertificate(text: string): ReadCertificate | null {
  const jws = readJws(text, 'RS256', CERTIFICATE_TYPE);
  return jws === null ? null : readClaims(text, jws.claims);
}

/** A certificate that somebody brings, under one or several keys of the vendor. */
export interface OfferedCertificate extends Omit<ReadCertificate, 'text'> {
  /** As they were written, in that order. */
  readonly texts: readonly [string, ...string[]];
}

/** A vendor has two keys while it changes them. */
const MAX_TEXTS = 8;

/**
 * The certificates that the vendor has signed with a key that is known here. Those with the same content
 * are one: applications may know another key of the vendor than this server does, and verify for themselves.
 */
export function readCertificates(
  given: readonly unknown[],
  vendorKeys: readonly KeyObject[],
): readonly OfferedCertificate[] {
  const texts = [...new Set(given)].filter((text) => typeof text === 'string').slice(0, MAX_TEXTS);
  const known = texts.filter((text) => readKnownCertificate(text) !== null);
  const byContent = Map.groupBy(known, (text) => text.split('.')[1]);
  return [...byContent.values()].flatMap((same) => {
    const read = same.flatMap((text) => vendorKeys.map((key) => readCertificate(text, key)));
    const signed = read.find((one) => one !== null);
    if (signed === undefined) return [];
    const { text: _, ...content } = signed;
    return [{ ...content, texts: same as [string, ...string[]] }];
  });
}

function readClaims(text: string, claims: Readonly<Record<string, unknown>>): ReadCertificate | null {
  const { hardware_id: hardwareId, licenses, cnf, issued_at, expires_at } = claims;
  const jwk = (cnf as { readonly jwk?: OkpJwk } | undefined)?.jwk;
  const [issuedAt, expiresAt] = [dateOf(issued_at), dateOf(expires_at)];
  if (typeof hardwareId !== 'string' || jwk === undefined || readOkpKey(jwk) === null) return null;
  if (!Array.isArray(licenses) || !licenses.every(isCertifiedLicense)) return null;
  if (issuedAt === null || expiresAt === null) return null;
  const key: OkpJwk = { kty: 'OKP', crv: 'Ed25519', x: jwk.x };
  return { text, kid: thumbprintOf(key), hardwareId, licenses, key, issuedAt, expiresAt };
}

/** The vendor has signed it, so only what this program reads is looked at. */
function isCertifiedLicense(value: unknown): value is CertifiedLicense {
  const { license_id: id, limits, features } = (value ?? {}) as Partial<CertifiedLicense>;
  return Number.isSafeInteger(id) && typeof limits === 'object' && limits !== null && Array.isArray(features);
}

function dateOf(value: unknown): number | null {
  return typeof value === 'string' ? (parseTimestamp(value) ?? null) : null;
}
