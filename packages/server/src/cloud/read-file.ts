import type { KeyObject } from 'node:crypto';
import {
  isVendorFile,
  LicenseFileError,
  readLicenseFields,
  readLicenseFile,
} from '@berth/protocol/carried/license-file';
import { isAnswerContent } from '@berth/protocol/cloud/cloud-binding';
import { parseTimestamp } from '@berth/protocol/timestamp';
import { type Instant, instant } from '../core/nouns/instant.ts';
import type { Vouched } from './cloud.ts';
import { readServerCertificates, readVendorLicense } from './vendor-license.ts';

/** The content of a vendor file, and whether the vendor has signed it. This does not decide on trust. */
export interface VendorFile extends Vouched {
  readonly isSigned: boolean;
  readonly issuedAt: Instant;
  /** `null` if the file does not say. */
  readonly hardwareId: string | null;
  readonly requestId: string | null;
}

export type FileKind = 'license' | 'policy';

/** A license file, or a policy file, which has the license type under another name. */
export function readVendorFile(text: string, kind: FileKind, keys: readonly KeyObject[]): VendorFile {
  if (text.trim() === '') throw new LicenseFileError('It is empty.');
  const file = readLicenseFile(text);
  const { fields } = file;
  rejectOtherKind(fields, kind);
  return {
    ...readVendorLicense(readLicenseFields(fields)),
    isSigned: keys.some((key) => isVendorFile(file, key)),
    certificates: readServerCertificates(fields, keys),
    issuedAt: readDate(fields.date),
    hardwareId: readText(fields.hardware_id),
    requestId: readText(fields.request_id),
  };
}

/**
 * The vendor signs license files, policies and cloud answers with one key. They have different uses, so none
 * passes as another: a policy does not name a machine, because its confirmation code does.
 */
function rejectOtherKind(fields: Readonly<Record<string, unknown>>, kind: FileKind): void {
  if (isAnswerContent(fields)) {
    throw new LicenseFileError('It is an answer of the licensing cloud, not a license file.');
  }
  const isPolicy = readText(fields.default_license_type) !== null;
  if (kind === 'license' && isPolicy) {
    throw new LicenseFileError('It is a policy, which needs codes: use "berth airgap install".');
  }
  const isForMachine = readText(fields.hardware_id) !== null || readText(fields.request_id) !== null;
  if (kind === 'policy' && (!isPolicy || isForMachine)) {
    throw new LicenseFileError('It is not a policy. Install license files with "berth offline install".');
  }
}

/** The newer of two files for one license wins, so each must have its date. */
function readDate(date: unknown): Instant {
  const at = typeof date === 'string' ? parseTimestamp(date) : undefined;
  if (typeof at === 'number') return instant(at);
  throw new LicenseFileError('"date" is missing or not a date.');
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
