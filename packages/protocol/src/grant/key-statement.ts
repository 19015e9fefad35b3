import type { KeyObject } from 'node:crypto';
import { type OkpJwk, okpJwkOf, readJws, readOkpKey, writeJws } from './jws.ts';

/** The header in which a server asks the cloud for a certificate. Clouds that do not know it ignore it. */
export const KEY_STATEMENT_HEADER = 'Berth-Grant-Key';

const STATEMENT_TYPE = 'berth-grant-key+jwt';

/** A server says, signed with its identity key, which key signs its grants. */
export function writeKeyStatement(hardwareId: string, grantKey: OkpJwk, identityKey: KeyObject): string {
  const claims = { hardware_id: hardwareId, cnf: { jwk: grantKey } };
  return writeJws({ alg: 'EdDSA', typ: STATEMENT_TYPE, jwk: okpJwkOf(identityKey) }, claims, identityKey);
}

interface KeyStatement {
  readonly hardwareId: string;
  /** The identity key that has signed it: base64 of its DER form, as in offline files. */
  readonly serverKey: string;
  readonly grantKey: OkpJwk;
}

/** Returns null if it is not a key statement, or its signature is wrong. */
export function readKeyStatement(text: string): KeyStatement | null {
  const jws = readJws(text, 'EdDSA', STATEMENT_TYPE);
  const signer = jws === null ? null : readOkpKey(jws.header.jwk);
  if (jws === null || signer === null || !jws.isSignedBy(signer)) return null;
  const { hardware_id: hardwareId, cnf } = jws.claims;
  const key = readOkpKey((cnf as { readonly jwk?: unknown } | undefined)?.jwk);
  if (typeof hardwareId !== 'string' || key === null) return null;
  const serverKey = signer.export({ type: 'spki', format: 'der' }).toString('base64');
  return { hardwareId, serverKey, grantKey: okpJwkOf(key) };
}
