import { findUnreadable } from '@berth/protocol/carried/license-file';
import type { Licensed } from '../../core/decision.ts';
import { dateFile } from '../../core/judge-request.ts';
import { type License, say } from '../../core/license.ts';
import { isRefusal, type Refusal, refuse } from '../../core/refusal.ts';
import { refuseUnreadable, refuseWithoutSlots } from '../../core/refuse-for-server.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import { perform } from '../execute.ts';
import { certifyInFile, type IssuedCertificates } from '../keys/certificates.ts';
import type { SigningKeys } from '../keys/key-ring.ts';
import { getLicense } from '../licenses.ts';

type Certificates = readonly string[];

/** Turns a license into a signed file: the reply to a request, its refresh, or a policy. */
export interface FileWriter {
  readonly signingKeys: SigningKeys;
  /** How long certificates in the file are valid; `null`: as long as those that are issued online. */
  readonly certificateDays: number | null;
  /** `certificates`: for the server that the file is for, if its key is proven. */
  writeAnswer(licensed: Licensed, requestId: string, dateAt: number, certificates: Certificates): string;
  writeRefresh(licensed: Licensed, dateAt: number, certificates?: Certificates): string;
  writePolicy(licensed: Licensed, dateAt: number, certificates?: Certificates): string;
}

export interface IssuedFile {
  readonly file: string;
  readonly licenseKey: string;
  readonly product: string;
  readonly hardwareId: string;
  readonly dateAt: number;
  /** When the certificate in it ends; `null`: it has none. */
  readonly certificateEndsAt: number | null;
}

interface Issue {
  readonly what: 'answer' | 'refresh' | 'policy';
  readonly requestId: string | null;
  /** It is for a server, which accepts no license without slots. */
  readonly needsSlots: boolean;
  /** In the file; `null`: none. */
  readonly issued: IssuedCertificates | null;
  write(dateAt: number, certificates: Certificates): string;
}

/**
 * Dates and records a file, unless no server could read it: that refusal rolls back the activation. Call only
 * inside a transaction.
 */
export function issueFile(
  store: CloudStore,
  licensed: Licensed,
  issue: Issue,
  now: number,
): IssuedFile | Refusal {
  const { license, hardwareId } = licensed;
  const refusal = issue.needsSlots ? refuseWithoutSlots(license) : null;
  if (refusal !== null) return refusal;
  const lastFileAt = store.sql.findLicense.get(license.key)?.last_file_at as number;
  const dateAt = dateFile(lastFileAt, now);
  store.sql.setLastFileAt.run(dateAt, license.id);
  const facts = { what: issue.what, hardware_id: hardwareId, request_id: issue.requestId, date: say(dateAt) };
  record(store, { kind: 'license_file_issued', facts }, license.id, now);
  const { key: licenseKey, product } = license;
  const file = issue.write(dateAt, issue.issued?.certificates ?? []);
  const fault = findUnreadable(Buffer.from(file, 'base64').toString());
  if (fault !== null) return refuseUnreadable(license, fault);
  return {
    file,
    licenseKey,
    product: product.code,
    hardwareId,
    dateAt,
    certificateEndsAt: issue.issued?.endsAt ?? null,
  };
}

interface RefreshInput {
  readonly key: string;
  /** `null`: the only device with the license. */
  readonly hardwareId: string | null;
}

/** A newer file for a device that has the license. */
export function refreshFile(
  store: CloudStore,
  { key, hardwareId }: RefreshInput,
  writer: FileWriter,
  now: number,
): IssuedFile | Refusal {
  return transact(store, () => {
    const license = getLicense(store, key);
    if (isRefusal(license)) return license;
    const chosen = hardwareId ?? chooseDevice(store, license);
    if (isRefusal(chosen)) return chosen;
    const outcome = checkLicense(store, license, chosen, now);
    if (isRefusal(outcome)) return outcome;
    const issued = certifyInFile(store, outcome, writer, now);
    const write: Issue['write'] = (...parts) => writer.writeRefresh(outcome, ...parts);
    const issue = { what: 'refresh', requestId: null, needsSlots: false, issued, write } as const;
    return issueFile(store, outcome, issue, now);
  });
}

export function chooseDevice({ sql }: CloudStore, { id, key }: License): string | Refusal {
  const devices = sql.listDevices.all({ license: id });
  if (devices.length === 1) return devices[0]?.hardware_id as string;
  if (devices.length === 0) {
    const how = 'Answer the request of a server with "cloud offline activate REQUEST-FILE" first.';
    return refuse('device_not_found', `The license is not activated on any machine. ${how}`);
  }
  return refuse(
    'missing_parameters',
    `The license is activated on ${devices.length} machines. Select one with --device; ` +
      `"cloud device list ${key}" shows them.`,
  );
}

/** The license as that machine would see it now. Call only inside a transaction. */
export function checkLicense(
  store: CloudStore,
  { key, product }: License,
  hardwareId: string,
  now: number,
): Licensed | Refusal {
  const proof = { kind: 'key', key } as const;
  const who = { product: product.code, hardwareId, licenseId: null, proof };
  return perform(store, { kind: 'check', who }, now) as Licensed | Refusal;
}
