import { findUnreadable, writeLicenseFile } from '@berth/protocol/carried/license-file';
import { formatTimestamp } from '@berth/protocol/timestamp';
import { listCounted } from '../../core/counting-window.ts';
import { type JudgeLicense, refuseUnreadable } from '../../core/refuse-for-server.ts';
import type { SigningKeys } from '../../store/keys/key-ring.ts';
import type { FileWriter } from '../../store/offline/license-files.ts';
import { certificateField, presentUnsigned } from '../present-license.ts';

/** The longest number. */
const WIDEST = Number.MIN_SAFE_INTEGER;

/** Space for what is added to a license: signatures, dates, ids and the binding to its request. */
const ROOM_BYTES = 8 * 1024;

/**
 * Returns whether a server can read the license on any machine and with any consumption. Variable parts are
 * assumed to have their maximum length.
 */
export const judgeLicense: JudgeLicense = (license) => {
  const totals = new Map(listCounted(license.terms).map((code) => [code, WIDEST]));
  const device = { hardwareId: 'x', deviceId: 1, deviceCount: 1 };
  const text = JSON.stringify(presentUnsigned({ kind: 'licensed', license, totals, ...device }, 0));
  const fault = findUnreadable(text.padEnd(text.length + ROOM_BYTES));
  return fault === null ? null : refuseUnreadable(license, fault);
};

/** Writes licenses as files: the response of a check, with a date, signed by the vendor. */
export function createFileWriter(
  signingKeys: SigningKeys,
  now: number,
  certificateDays: number | null = null,
): FileWriter {
  const { current: signingKey } = signingKeys;
  return {
    signingKeys,
    certificateDays,
    writeAnswer(licensed, requestId, dateAt, certificates) {
      const license = { ...presentUnsigned(licensed, now), ...certificateField(certificates) };
      const fields = { ...license, request_id: requestId, date: formatTimestamp(dateAt) };
      return writeLicenseFile(fields, signingKey, { withFirst: true });
    },
    writeRefresh(licensed, dateAt, certificates = []) {
      const license = { ...presentUnsigned(licensed, now), ...certificateField(certificates) };
      const fields = { ...license, date: formatTimestamp(dateAt) };
      return writeLicenseFile(fields, signingKey, { withFirst: false });
    },
    writePolicy(licensed, dateAt, certificates = []) {
      // A policy is for no machine, because the confirmation code is; only its certificate names one.
      const { hardware_id: _, device_id: __, ...license } = presentUnsigned(licensed, now);
      const more = { default_license_type: license.license_type, ...certificateField(certificates) };
      const fields = { ...license, ...more, date: formatTimestamp(dateAt) };
      return writeLicenseFile(fields, signingKey, { withFirst: false });
    },
  };
}
