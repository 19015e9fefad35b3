import type { KeyObject } from 'node:crypto';
import { type AnswerBinding, isFileContent } from '@berth/protocol/cloud/cloud-binding';
import { isSignedByOne, licenseSignatureText } from '@berth/protocol/cloud/vendor-signature';
import { CloudFault, type Identification, OtherLicense } from './cloud.ts';

/** The request. An answer is only valid for it. */
export interface Question {
  readonly nonce: string;
  readonly requestDigest: string;
  /** `null` for a request without a license. */
  readonly meant: Identification | null;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The members of a JSON object; none for anything else. */
export function fieldsOf(parsed: unknown): Fields {
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Fields) : {};
}

/** License files and policies are signed with the same key, but must not pass as answers. */
export function rejectFile(fields: Fields): void {
  if (!isFileContent(fields)) return;
  throw fault('not_understood', 'The licensing cloud sent a license file instead of an answer.');
}

/**
 * Whether the answer repeats the nonce of this request. Throws if it repeats another nonce, or answers
 * another request. Callers must have checked the signature first.
 */
export function isBoundTo({ nonce, requestDigest, meant }: Question, fields: Fields): boolean {
  const bound = fields as Partial<AnswerBinding>;
  if ((bound.nonce ?? null) === null) return false;
  if (bound.nonce !== nonce) {
    throw fault('not_bound', 'The licensing cloud sent the answer to another request.');
  }
  if ((bound.request_digest ?? requestDigest) !== requestDigest) {
    throw fault('not_bound', 'The request was changed on its way to the licensing cloud.');
  }
  const isOtherMachine = (bound.hardware_id ?? null) !== null && bound.hardware_id !== meant?.hardwareId;
  const expected = meant?.licenseId ?? null;
  const isOtherLicense = expected !== null && (bound.license_id ?? expected) !== expected;
  if (!isOtherMachine && !isOtherLicense) return true;
  // Whoever forwards another question with our nonce cannot make the cloud repeat the digest of ours.
  const isCertain = bound.hardware_id === meant?.hardwareId && bound.request_digest === requestDigest;
  if (isCertain && isOtherLicense) throw new OtherLicense(bound.license_id as number, expected);
  throw fault('not_bound', 'The licensing cloud answered for another license or machine.');
}

/** An answer that grants or counts something must name its license and machine. */
export function requireNamed({ meant }: Question, fields: Fields): void {
  const expected = meant?.licenseId ?? fields.id;
  if (fields.license_id === expected && fields.hardware_id === meant?.hardwareId) return;
  throw fault('not_bound', 'The answer of the licensing cloud does not name its license and machine.');
}

/**
 * Whether a signature of the vendor covers this server's hardware id: that of the whole body, if it contains
 * the id, or that of the license.
 */
export function coversMachine({ meant }: Question, fields: Fields, keys: readonly KeyObject[]): boolean {
  if (meant === null) return false;
  const named = fields.hardware_id ?? null;
  if (named !== null) return named === meant.hardwareId;
  return hasLicenseSignature(meant, fields, keys);
}

/**
 * Whether a refusal is certainly about this license on this machine. If the cloud found no license, it names
 * none: the digest then shows that it looked for the right one.
 */
export function isAboutLicense(question: Question, fields: Fields, keys: readonly KeyObject[]): boolean {
  const { meant, nonce, requestDigest } = question;
  if (meant === null) return false;
  if (fields.nonce !== nonce) {
    return 'licenseKey' in meant.holder && hasLicenseSignature(meant, fields, keys);
  }
  if (fields.hardware_id !== meant.hardwareId) return false;
  const isNamed = meant.licenseId !== null && fields.license_id === meant.licenseId;
  return isNamed || fields.request_digest === requestDigest;
}

function hasLicenseSignature(
  { hardwareId, holder }: Identification,
  fields: Fields,
  keys: readonly KeyObject[],
): boolean {
  const { license_signature: signature, license_key: named, validity_period: until } = fields;
  const key = 'licenseKey' in holder ? holder.licenseKey : named;
  if (typeof signature !== 'string' || typeof key !== 'string') return false;
  const text = licenseSignatureText(hardwareId, key, typeof until === 'string' ? until : null);
  return isSignedByOne(keys, Buffer.from(text), signature);
}

function fault(reason: 'not_understood' | 'not_bound', message: string): CloudFault {
  return new CloudFault(reason, message, { mayHaveArrived: true });
}
