import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { isRefusal } from '@berth/cloud/core/refusal';
import { createFileWriter } from '@berth/cloud/http/portal/write-files';
import { approveKey } from '@berth/cloud/store/keys/waiting-keys';
import type { LicenseDraft } from '@berth/cloud/store/licenses';
import { getLicense } from '@berth/cloud/store/licenses';
import { type AirgapCodes, confirmAirgap, renewPolicy, startAirgap } from '@berth/cloud/store/offline/airgap';
import { certifyByFile } from '@berth/cloud/store/offline/certificate-files';
import { refreshFile } from '@berth/cloud/store/offline/license-files';
import { answerActivation, answerDeactivation } from '@berth/cloud/store/offline/offline-requests';
import { takeUsage } from '@berth/cloud/store/offline/usage';
import { isVendorFile, readLicenseFile } from '@berth/protocol/carried/license-file';
import { type ReadRequest, readOfflineRequest } from '@berth/protocol/carried/offline-request';
import { readUsageFile, type Usage } from '@berth/protocol/carried/usage-file';
import { type CloudLicense, cloudLicense } from '@berth/protocol/cloud/cloud-license';
import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { type CarriedServer, dumpTables } from './carried-server.ts';
import { createTestCloud, type TestCloud } from './test-cloud.ts';

type Given<T> = Exclude<T, { kind: 'refused' }>;

/** The result; fails the test if it is a refusal. */
export function given<T>(result: T): Given<T> {
  if (isRefusal(result)) assert.fail(`${result.code}: ${result.message}`);
  return result as Given<T>;
}

/** The code of a refusal; fails the test if the result is none. */
export function refused(result: unknown): string {
  assert.ok(isRefusal(result), `It was not refused: ${JSON.stringify(result)}`);
  return result.code;
}

/** A license as a server reads it from a vendor's file, and all fields of the file. */
interface ReadFile {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly license: CloudLicense;
}

/** The vendor's side of a new cloud, with a consumption license. */
export function createTestPortal(t: Pick<TestContext, 'after'>, terms: LicenseDraft['terms'] = COUNTING) {
  const cloud = createTestCloud(t);
  const { store, airgapKey, keyRing } = cloud.folder;
  // Servers accept no license without slots.
  const key = cloud.grant({ slots: 5, ...terms });
  const writer = () => createFileWriter(keyRing.read(), cloud.now);
  const request = (file: string) => readOfflineRequest(file) as ReadRequest;
  return {
    cloud,
    store,
    key,
    licenseId: given(getLicense(store, key)).id,
    activate: (file: string, licenseKey: string | null = null, from: string | null = null) =>
      answerActivation(store, { request: request(file), key: licenseKey, from }, writer(), cloud.now),
    deactivate: (file: string, licenseKey: string | null = null, from: string | null = null) =>
      answerDeactivation(store, { request: request(file), key: licenseKey, from }, cloud.now),
    /** The vendor approves the server's key for its machine. */
    approve: ({ hardwareId, serverKey }: CarriedServer) =>
      approveKey(store, hardwareId, publicKeyFingerprint(serverKey), cloud.now),
    refresh: (hardwareId: string | null = null) =>
      refreshFile(store, { key, hardwareId }, writer(), cloud.now),
    usage(file: string, from: string | null = null) {
      const read = readUsageFile(file);
      assert.ok(read !== null, 'It is no usage file.');
      return takeUsage(store, { ...read, from }, cloud.now);
    },
    start: () => given(startAirgap(store, key, cloud.now)).initializationCode,
    confirm: (codes: Omit<AirgapCodes, 'key'> & Partial<AirgapCodes>) =>
      confirmAirgap(store, { key, ...codes }, { airgapKey, writer: writer() }, cloud.now),
    /** The vendor answers for the grant key; `null`: for the one that is known. */
    certify: (grantKey: string | null, hardwareId: string | null = null) =>
      certifyByFile(store, { key, hardwareId, grantKey, days: 365 }, keyRing.read(), cloud.now),
    policy: () => renewPolicy(store, key, writer(), cloud.now),
    dump: () => dumpTables(store.db),
    readFile: (file: string) => readAsServer(cloud, file),
  };
}

const COUNTING = { slots: 5, consumption: { max: 10 } } as const;

function readAsServer(cloud: TestCloud, file: string): ReadFile {
  const read = readLicenseFile(file);
  assert.ok(isVendorFile(read, cloud.publicKey), 'The vendor has not signed it.');
  return { fields: read.fields, license: cloudLicense.parse(read.fields) };
}

/** The usage of one license, as a server reports it. */
export function told(
  licenseId: number,
  licenseKey: string,
  consumed: number,
  features: Readonly<Record<string, number>> = {},
): Usage['licenses'] {
  const list = Object.entries(features).map(([code, amount]) => ({ code, consumed: amount }));
  return [{ license_id: licenseId, license_key: licenseKey, consumed, features: list }];
}
