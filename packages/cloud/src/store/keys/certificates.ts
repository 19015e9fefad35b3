import { createHash } from 'node:crypto';
import { type CertificateRequest, isCertificateRequestProven } from '@berth/protocol/cloud/certificate-proof';
import { type OkpJwk, thumbprintOf } from '@berth/protocol/grant/jws';
import { readKeyStatement } from '@berth/protocol/grant/key-statement';
import { writeCertificate } from '@berth/protocol/grant/server-certificate';
import { certificateEnd } from '../../core/certificate-term.ts';
import type { Licensed } from '../../core/decision.ts';
import { say } from '../../core/license.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import { findGrantKey, setGrantKey } from './grant-keys.ts';
import { fingerprintOf, type SigningKeys } from './key-ring.ts';
import type { CallerKey } from './keys.ts';
import { presentCertified } from './present-certified.ts';
import { checkServerKey, findServerKey, isOwnMachine } from './server-keys.ts';
import { takeNonce } from './used-nonces.ts';
import { holdForVendor } from './waiting-keys.ts';

/** A request of a server for a certificate, and who sent it. */
export interface OnlineRequest extends CertificateRequest {
  readonly proof: string;
  readonly caller: CallerKey;
  readonly from: string;
}

/**
 * Certificates for the server that just activated or checked a license. None if its request is not proven, or
 * was proven before; and none if its machine is known by another identity key, which waits for the vendor.
 */
export function certifyOnline(
  store: CloudStore,
  licensed: Licensed,
  request: OnlineRequest,
  signingKeys: SigningKeys,
  now: number,
): readonly string[] {
  const { license, hardwareId } = licensed;
  const { keyStatement, caller, from } = request;
  const statement = readKeyStatement(keyStatement);
  return transact(store, () => {
    // Another process may have ended the activation since it was answered.
    if (store.sql.findDevice.get(license.id, hardwareId) === undefined) return [];
    const fault = findFault(store, request, now);
    if (fault !== null || statement?.hardwareId !== hardwareId) {
      const facts = { hardware_id: hardwareId, reason: fault ?? 'statement_invalid', pair: caller.name };
      record(store, { kind: 'certificate_refused', facts }, license.id, now);
      return [];
    }
    const { serverKey, grantKey } = statement;
    const known = findServerKey(store, hardwareId);
    const isOwn = isOwnMachine(store, hardwareId, caller);
    const file = { asks: 'certificate', hardwareId, serverKey, grantKey: grantKey.x, from } as const;
    if (known !== serverKey && (known !== null || !isOwn)) {
      holdForVendor(store, file, now);
      return [];
    }
    if (isOwn) checkServerKey(store, { ...file, vouchedBy: caller, licenseIds: [license.id] }, now);
    setGrantKey(store, licensed, grantKey.x, true);
    return issueCertificates(store, licensed, { grantKey, days: null }, signingKeys, now).certificates;
  });
}

/** Call only inside a transaction. */
function findFault(store: CloudStore, request: OnlineRequest, now: number): string | null {
  const { caller, nonce, date, proof } = request;
  if (!isCertificateRequestProven(caller.sharedKey, request, proof)) return 'proof_invalid';
  const isNew = takeNonce(store, { pair: caller.name, nonce, sentAt: Date.parse(date) }, now);
  return isNew ? null : 'nonce_used';
}

interface Carried {
  readonly signingKeys: SigningKeys;
  /** `null`: as long as one that is issued online. */
  readonly certificateDays: number | null;
}

/** For a file; `null` if no key of the server on its machine is proven. Call only inside a transaction. */
export function certifyInFile(
  store: CloudStore,
  licensed: Licensed,
  { signingKeys, certificateDays: days }: Carried,
  now: number,
): IssuedCertificates | null {
  const known = findGrantKey(store, licensed);
  if (!known?.isProven) return null;
  return issueCertificates(store, licensed, { grantKey: known.grantKey, days }, signingKeys, now);
}

interface Issue {
  readonly grantKey: OkpJwk;
  readonly days: number | null;
}

export interface IssuedCertificates {
  /** One under each key of the vendor, the one that signs answers first. */
  readonly certificates: readonly string[];
  readonly licenseKey: string;
  readonly hardwareId: string;
  readonly kid: string;
  readonly endsAt: number;
}

/** An event only if something has changed: servers ask every hour. Call only inside a transaction. */
export function issueCertificates(
  store: CloudStore,
  { license, hardwareId }: Licensed,
  { grantKey, days }: Issue,
  signingKeys: SigningKeys,
  now: number,
): IssuedCertificates {
  const { id, key: licenseKey, terms } = license;
  const endsAt = certificateEnd(terms, days, now);
  const kid = thumbprintOf(grantKey);
  const licenses = [presentCertified(license)];
  const content = JSON.stringify([kid, licenses, signingKeys.all.map(fingerprintOf)]);
  const digest = createHash('sha256').update(content).digest('base64url');
  const isSame = store.sql.findDevice.get(id, hardwareId)?.certified === digest;
  store.sql.setCertified.run(digest, endsAt, id, hardwareId);
  if (!isSame || days !== null) {
    const facts = { hardware_id: hardwareId, kid, expires_at: say(endsAt) };
    record(store, { kind: 'certificate_issued', facts }, id, now);
  }
  const claims = { hardwareId, licenses, key: grantKey, issuedAt: now, expiresAt: endsAt };
  const certificates = signingKeys.all.map((key) => writeCertificate(claims, key));
  return { certificates, licenseKey, hardwareId, kid, endsAt };
}
