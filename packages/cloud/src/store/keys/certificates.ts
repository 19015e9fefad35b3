import { type OkpJwk, readOkpKey, thumbprintOf } from '@berth/protocol/grant/jws';
import { readKeyStatement } from '@berth/protocol/grant/key-statement';
import { writeCertificate } from '@berth/protocol/grant/server-certificate';
import { type CertificateWay, certificateEnd } from '../../core/certificate-term.ts';
import type { Licensed } from '../../core/decision.ts';
import { say } from '../../core/license.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import type { SigningKeys } from './key-ring.ts';
import { presentCertified } from './present-certified.ts';
import { findServerKey, meetServer } from './server-keys.ts';
import { holdForVendor } from './waiting-keys.ts';

/** What a server asked for, and over which way. */
interface Asked {
  /** The header of the request; `null`: it had none. */
  readonly statement: string | null;
  readonly from: string;
}

/**
 * Certificates for the server that just activated or checked a license; none if it did not ask, or if
 * its machine is known by another identity key: that one waits for the vendor.
 */
export function certifyOnline(
  store: CloudStore,
  licensed: Licensed,
  { statement: text, from }: Asked,
  signingKeys: SigningKeys,
  now: number,
): readonly string[] {
  const statement = text === null ? null : readKeyStatement(text);
  const { license, hardwareId } = licensed;
  if (statement === null || statement.hardwareId !== hardwareId || license.terms.lending === null) return [];
  return transact(store, () => {
    const { serverKey, grantKey } = statement;
    const known = findServerKey(store, hardwareId);
    const file = { asks: 'certificate', hardwareId, serverKey, from } as const;
    if (known !== null && known !== serverKey) {
      holdForVendor(store, file, now);
      return [];
    }
    // The keys of the caller vouch for it.
    meetServer(store, { ...file, vouchedBy: { customer: null }, licenseIds: [license.id] }, now);
    learnGrantKey(store, hardwareId, grantKey.x, now);
    return issueCertificate(store, licensed, { grantKey, way: 'online' }, signingKeys, now).certificates;
  });
}

/**
 * Notes the key that signs the grants of a machine. Call only inside a transaction, once the file or request
 * is known to speak for the machine. What is no key is ignored.
 */
export function learnGrantKey({ sql }: CloudStore, hardwareId: string, x: string, now: number): void {
  if (readOkpKey(jwkOf(x)) === null || sql.findGrantKey.get(hardwareId)?.x === x) return;
  sql.putGrantKey.run(hardwareId, x, now);
}

function jwkOf(x: string): OkpJwk {
  return { kty: 'OKP', crv: 'Ed25519', x };
}

/** For a file; empty if the server on its machine told no key. Call only inside a transaction. */
export function certifyInFile(
  store: CloudStore,
  licensed: Licensed,
  signingKeys: SigningKeys,
  now: number,
  grantKey = findGrantKey(store, licensed.hardwareId),
): readonly string[] {
  if (grantKey === null) return [];
  return issueCertificate(store, licensed, { grantKey, way: 'carried' }, signingKeys, now).certificates;
}

/** The newest grant key of the server on a machine; `null` if it never told one. */
export function findGrantKey({ sql }: CloudStore, hardwareId: string): OkpJwk | null {
  const row = sql.findGrantKey.get(hardwareId);
  return row === undefined ? null : jwkOf(row.x as string);
}

interface Issue {
  readonly grantKey: OkpJwk;
  readonly way: CertificateWay;
}

export interface IssuedCertificate {
  /** One under each key of the vendor, the one that signs answers first. */
  readonly certificates: readonly string[];
  readonly licenseKey: string;
  readonly hardwareId: string;
  readonly kid: string;
  readonly expiresAt: number;
}

/** Call only inside a transaction. */
export function issueCertificate(
  store: CloudStore,
  { license, hardwareId }: Licensed,
  { grantKey, way }: Issue,
  signingKeys: SigningKeys,
  now: number,
): IssuedCertificate {
  const { id, key: licenseKey, terms } = license;
  const expiresAt = certificateEnd(terms, way, now);
  const kid = thumbprintOf(grantKey);
  const facts = { hardware_id: hardwareId, kid, expires_at: say(expiresAt) };
  record(store, { kind: 'certificate_issued', facts }, id, now);
  const content = {
    hardwareId,
    licenses: [presentCertified(license)],
    key: grantKey,
    issuedAt: now,
    expiresAt,
  };
  const certificates = signingKeys.all.map((key) => writeCertificate(content, key));
  return { certificates, licenseKey, hardwareId, kid, expiresAt };
}
