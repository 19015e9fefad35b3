import type { KeyObject } from 'node:crypto';
import { formatTimestamp, parseTimestamp } from '../timestamp.ts';
import { type OkpJwk, readJws, readOkpKey, thumbprintOf, writeJws } from './jws.ts';

/** The `typ` of certificates. Nothing else that a vendor signs has it. */
const CERTIFICATE_TYPE = 'berth-server+jwt';

/** The vendor's word that the holder of a key is the server with this hardware id, for these licenses. */
interface CertificateClaims {
  readonly hardware_id: string;
  readonly license_ids: readonly number[];
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
  readonly licenseIds: readonly number[];
  readonly key: OkpJwk;
  /** In milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** A compact JWS, signed with the key that signs the answers of the cloud and license files (RS256). */
export function writeCertificate(facts: CertificateFacts, vendorKey: KeyObject): string {
  const { hardwareId, licenseIds, key, issuedAt, expiresAt } = facts;
  const claims: CertificateClaims = {
    hardware_id: hardwareId,
    license_ids: licenseIds,
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
  if (jws === null || !jws.isSignedBy(vendorKey)) return null;
  const { hardware_id: hardwareId, license_ids: ids, cnf } = jws.claims;
  const jwk = (cnf as { readonly jwk?: OkpJwk } | undefined)?.jwk;
  const [issuedAt, expiresAt] = [dateOf(jws.claims.issued_at), dateOf(jws.claims.expires_at)];
  if (typeof hardwareId !== 'string' || jwk === undefined || readOkpKey(jwk) === null) return null;
  if (!Array.isArray(ids) || !ids.every(Number.isSafeInteger)) return null;
  if (issuedAt === null || expiresAt === null) return null;
  const key: OkpJwk = { kty: 'OKP', crv: 'Ed25519', x: jwk.x };
  return { text, kid: thumbprintOf(key), hardwareId, licenseIds: ids, key, issuedAt, expiresAt };
}

function dateOf(value: unknown): number | null {
  return typeof value === 'string' ? (parseTimestamp(value) ?? null) : null;
}
