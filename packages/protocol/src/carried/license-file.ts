import type { KeyObject } from 'node:crypto';
import { type CloudLicense, cloudLicense } from '../cloud/cloud-license.ts';
import { isSignedBy, licenseSignatureText, signBytes } from '../cloud/vendor-signature.ts';
import { compactWithout } from '../json-members.ts';
import { JsonTextError, parseJsonText } from '../json-text.ts';
import { decodeBase64, decodeBase64Text, encodeBase64 } from './canonical-base64.ts';
import { MAX_LICENSE_BYTES, MAX_LICENSE_FILE_BYTES } from './license-size.ts';

const SIGNATURES = ['license_signature', 'license_signature_v2'] as const;

/** A license in a file, as it is written. */
interface LicenseFile {
  readonly fields: Readonly<Record<string, unknown>>;
  /** What the newer signature covers: everything but the signatures, compact, in the order of the file. */
  readonly signedText: string;
}

/** The license file cannot be read; the message says why. */
export class LicenseFileError extends Error {}

/** Base64 of a JSON object; strict, so that no two files count as the same. */
export function readLicenseFile(file: string): LicenseFile {
  const trimmed = file.trim();
  if (trimmed.length > MAX_LICENSE_FILE_BYTES) {
    throw new LicenseFileError(
      `It has ${trimmed.length} characters; a file may have ${MAX_LICENSE_FILE_BYTES}.`,
    );
  }
  const text = decodeBase64Text(trimmed);
  if (text === null) throw new LicenseFileError('It is not base64 in its canonical form.');
  const fields = parseFields(text);
  return { fields, signedText: compactWithout(text, SIGNATURES) };
}

function parseFields(text: string): Readonly<Record<string, unknown>> {
  try {
    const fields = parseJsonText(text);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) {
      return fields as Record<string, unknown>;
    }
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    // The message is for request bodies, which this is not.
    throw new LicenseFileError(error.code === 'invalid_json' ? 'Its content is not JSON.' : error.message);
  }
  throw new LicenseFileError('Its content is not a JSON object.');
}

/** The license in the fields. A policy has the license type under another name. */
export function readLicenseFields(fields: LicenseFile['fields']): CloudLicense {
  const license_type = fields.default_license_type ?? fields.license_type;
  const parsed = cloudLicense.safeParse({ ...fields, license_type });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new LicenseFileError(`"${issue?.path.join('.')}" ${issue?.message}.`);
}

/** Explains why servers cannot read this license (as JSON); `null` if they can. */
export function findUnreadable(text: string): string | null {
  const size = Buffer.byteLength(text);
  if (size > MAX_LICENSE_BYTES) {
    return `It takes ${size} bytes, and servers read at most ${MAX_LICENSE_BYTES}.`;
  }
  try {
    readLicenseFields(parseFields(text));
    return null;
  } catch (error) {
    if (error instanceof LicenseFileError) return error.message;
    throw error;
  }
}

/**
 * Whether the vendor has signed this file. `license_signature_v2` covers all of it and is required;
 * `license_signature`, of older portals, must be valid if present.
 */
export function isVendorFile({ fields, signedText }: LicenseFile, publicKey: KeyObject): boolean {
  const { license_signature: v1, license_signature_v2: v2 } = fields;
  if (!isSignature(publicKey, signedText, v2)) return false;
  return v1 === undefined || v1 === null || isSignature(publicKey, firstSignatureText(fields), v1);
}

function isSignature(publicKey: KeyObject, text: string, signature: unknown): boolean {
  if (typeof signature !== 'string' || decodeBase64(signature) === null) return false;
  return isSignedBy(publicKey, Buffer.from(text), signature);
}

function firstSignatureText(fields: Readonly<Record<string, unknown>>): string {
  const { hardware_id, license_key, validity_period } = fields;
  return licenseSignatureText(
    String(hardware_id ?? ''),
    String(license_key ?? ''),
    validity_period === null || validity_period === undefined ? null : String(validity_period),
  );
}

/** Writes a file. An answer to a request has both signatures, a refresh only the newer one. */
export function writeLicenseFile(
  fields: Readonly<Record<string, unknown>>,
  privateKey: KeyObject,
  { withFirst }: { readonly withFirst: boolean },
): string {
  const first = withFirst
    ? { license_signature: signBytes(privateKey, Buffer.from(firstSignatureText(fields))) }
    : {};
  const second = signBytes(privateKey, Buffer.from(JSON.stringify(fields)));
  return encodeBase64(JSON.stringify({ ...fields, ...first, license_signature_v2: second }));
}
