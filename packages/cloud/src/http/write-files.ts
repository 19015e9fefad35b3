import type { KeyObject } from 'node:crypto';
import { writeLicenseFile } from '@berth/protocol/license-file';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { FileWriter } from '../store/license-files.ts';
import { presentUnsigned } from './present-license.ts';

/** Licenses as files: what a check would answer, with a date, signed by the vendor. */
export function createFileWriter(signingKey: KeyObject, now: number): FileWriter {
  return {
    writeAnswer(licensed, requestId, dateAt) {
      const fields = { ...presentUnsigned(licensed, now), request_id: requestId };
      return writeLicenseFile({ ...fields, date: formatTimestamp(dateAt) }, signingKey, { withFirst: true });
    },
    writeRefresh(licensed, dateAt) {
      const fields = { ...presentUnsigned(licensed, now), date: formatTimestamp(dateAt) };
      return writeLicenseFile(fields, signingKey, { withFirst: false });
    },
    writePolicy(licensed, dateAt) {
      // A policy names no machine: the confirmation code does.
      const { hardware_id: _, device_id: __, ...license } = presentUnsigned(licensed, now);
      const fields = { ...license, default_license_type: license.license_type };
      return writeLicenseFile({ ...fields, date: formatTimestamp(dateAt) }, signingKey, { withFirst: false });
    },
  };
}
