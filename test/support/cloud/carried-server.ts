import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { makeActivationCode, readInitializationCode } from '@berth/protocol/carried/airgap-codes';
import {
  type OfflineRequest,
  type RequestSigner,
  writeOfflineRequest,
} from '@berth/protocol/carried/offline-request';
import { type Usage, writeUsageFile } from '@berth/protocol/carried/usage-file';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';

/** A server without internet access, as the vendor sees it: a machine and a key that signs its files. */
export interface CarriedServer {
  readonly hardwareId: string;
  readonly serverKey: string;
  /** A request file; by default an activation signed with the server's key. */
  request(wish?: Partial<OfflineRequest>, keys?: CloudKeys): string;
  /** A usage file, with the next sequence number by default. */
  usage(licenses: Usage['licenses'], more?: Partial<Usage>): string;
  /** The usage in a deactivation request. */
  usageContent(licenses: Usage['licenses'], more?: Partial<Usage>): Usage;
  activationCode(licenseKey: string, initializationCode: string): string;
}

export function createCarriedServer(hardwareId = 'machine-1'): CarriedServer {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const serverKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  let sequence = 0;
  const usageContent = (licenses: Usage['licenses'], more: Partial<Usage> = {}): Usage => {
    sequence += 1;
    const head = { schema_version: 1, sequence, hardware_id: hardwareId, date: DATE } as const;
    return { ...head, server_key: serverKey, licenses, ...more };
  };
  return {
    hardwareId,
    serverKey,
    request(wish = {}, keys) {
      const signer: RequestSigner =
        keys === undefined ? { kind: 'server', privateKey } : { kind: 'cloud-keys', keys };
      const request = { ...PLAIN, requestId: randomUUID(), hardwareId, serverKey, ...wish };
      return writeOfflineRequest(request, signer);
    },
    usage: (licenses, more) => writeUsageFile(usageContent(licenses, more), privateKey),
    usageContent,
    activationCode(licenseKey, initializationCode) {
      const key = readInitializationCode(initializationCode);
      if (key === null) throw new Error('That is no initialization code.');
      return makeActivationCode(key, { hardwareId, licenseKey });
    },
  };
}

const DATE = '2026-06-15T12:00:00.000Z';

const PLAIN = {
  request: 'activation',
  product: null,
  licenseKey: null,
  username: null,
  date: DATE,
  hostname: 'alpha',
  appVersion: '0.1.0',
  usage: null,
} as const;

/** The whole content of a database, to detect writes. */
export function dumpTables(db: DatabaseSync): string {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  return tables
    .map(({ name }) => `${name} ${JSON.stringify(db.prepare(`SELECT * FROM ${name}`).all())}`)
    .join('\n');
}
