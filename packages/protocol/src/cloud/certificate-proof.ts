import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The header that proves a request for a certificate. The signature of the API covers only the date, so
 * whoever sees a request can send another one with it. This one covers the whole request, and counts once.
 */
export const CERTIFICATE_PROOF_HEADER = 'Berth-Certificate-Proof';

/** What is proven, as it was sent. */
export interface CertificateRequest {
  /** The `Date` header. */
  readonly date: string;
  /** The `Berth-Nonce` header. */
  readonly nonce: string;
  /** The digest of operation and body, or query; see `digestRequest`. */
  readonly requestDigest: string;
  readonly hardwareId: string;
  /** The `Berth-Grant-Key` header. */
  readonly keyStatement: string;
}

export function proveCertificateRequest(sharedKey: string, request: CertificateRequest): string {
  const { date, nonce, requestDigest, hardwareId, keyStatement } = request;
  const lines = ['berth-certificate', date, nonce, requestDigest, hardwareId, keyStatement];
  return createHmac('sha256', sharedKey).update(lines.join('\n')).digest('base64url');
}

export function isCertificateRequestProven(
  sharedKey: string,
  request: CertificateRequest,
  proof: string,
): boolean {
  const expected = Buffer.from(proveCertificateRequest(sharedKey, request));
  const given = Buffer.from(proof);
  return expected.length === given.length && timingSafeEqual(expected, given);
}
