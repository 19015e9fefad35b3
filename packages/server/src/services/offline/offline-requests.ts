import { type KeyObject, randomUUID } from 'node:crypto';
import { type RequestSigner, writeOfflineRequest } from '@berth/protocol/carried/offline-request';
import { type Usage, writeUsageFile } from '@berth/protocol/carried/usage-file';
import { RequestError } from '@berth/protocol/request-error';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { CloudHost } from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { RequestRecord, UsageRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { ReadKeys } from '../cloud/cloud-session.ts';
import type { GrantKeys } from '../grants/grant-keys.ts';
import type { Identity } from '../identity/identity.ts';
import { readIdentityKey } from '../identity/identity-key.ts';

/** Files that this server writes for the vendor, and a person carries. */
export interface RequestOptions {
  readonly store: Store;
  readonly identity: Identity;
  readonly readKeys: ReadKeys;
  readonly host: CloudHost;
  readonly grantKeys: GrantKeys;
}

export interface RequestInput {
  readonly product: string | null;
  readonly licenseKey: string | null;
  /** The user, if the vendor issues licenses to users. */
  readonly username: string | null;
}

export interface DeactivationInput extends RequestInput {
  readonly licenseId: LicenseId | null;
}

export interface MadeRequest {
  readonly requestId: string;
  readonly requestData: string;
  readonly fileName: string;
  readonly hardwareId: string;
  /** The fingerprint of this server's key, for the vendor to compare. */
  readonly identityKey: string;
  readonly signedBy: 'cloud-keys' | 'server';
}

export interface MadeUsage {
  readonly usageData: string;
  readonly fileName: string;
  readonly sequence: number;
}

/** A request that waits for its answer. */
export interface OpenRequest extends Omit<RequestRecord, 'licenseKey'> {
  /** The last four characters of the license key: enough to recognize it. */
  readonly keyEnd: string | null;
  /** The name that its file was given; `null` for codes. */
  readonly fileName: string | null;
}

/** A license may also have come another way than the one it was requested by. */
export async function listRequests({ store }: RequestOptions): Promise<readonly OpenRequest[]> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  const keys = new Set(records.map(({ license }) => license.key));
  const requests = await store.read({ kind: 'list_open_requests' });
  return requests
    .filter(({ licenseKey }) => licenseKey === null || !keys.has(licenseKey))
    .map(({ licenseKey, ...request }) => ({
      ...request,
      keyEnd: licenseKey?.slice(-4) ?? null,
      fileName: request.request === 'airgap' ? null : fileNameOf(request.request, request.requestId),
    }));
}

/** Creates a file that requests a license from the vendor. */
export function requestLicense(
  options: RequestOptions,
  input: RequestInput,
  by: Actor,
): Promise<MadeRequest> {
  return makeRequest(options, { request: 'activation', ...input, usage: null }, by);
}

interface RequestContent extends RequestInput {
  readonly request: 'activation' | 'deactivation';
  readonly usage: Usage | null;
}

async function makeRequest(
  options: RequestOptions,
  { request, product, licenseKey, username, usage }: RequestContent,
  by: Actor,
): Promise<MadeRequest> {
  const { store, identity, host } = options;
  const requestId = randomUUID();
  const hardwareId = await identity.readHardwareId();
  const own = await readIdentityKey(store);
  const [{ jwk }] = await options.grantKeys.list();
  const signer = await chooseSigner(options, own.privateKey);
  await store.execute({ kind: 'open_request', requestId, request, product, licenseKey, by });
  const { wall } = await store.keepClock();
  const requestData = writeOfflineRequest(
    {
      request,
      requestId,
      product,
      licenseKey,
      username,
      hardwareId,
      date: formatTimestamp(wall),
      serverKey: own.publicKey,
      grantKey: jwk.x,
      hostname: host.hostname,
      appVersion: host.version,
      usage,
    },
    signer,
  );
  const fileName = fileNameOf(request, requestId);
  const { fingerprint: identityKey } = own;
  return { requestId, requestData, fileName, hardwareId, identityKey, signedBy: signer.kind };
}

function fileNameOf(request: RequestContent['request'], requestId: string): string {
  return `berth-${request}-${requestId.slice(0, 8)}.req`;
}

/** Signed with the cloud keys if both are set, otherwise with the server key. */
async function chooseSigner({ readKeys }: RequestOptions, privateKey: KeyObject): Promise<RequestSigner> {
  const { apiKey, sharedKey } = await readKeys();
  if (apiKey === null || sharedKey === null) return { kind: 'server', privateKey };
  return { kind: 'cloud-keys', keys: { apiKey, sharedKey } };
}

/** Stops the license first, so that nothing is counted after the amounts in the file. */
export async function requestDeactivation(
  options: RequestOptions,
  input: DeactivationInput,
  by: Actor,
): Promise<MadeRequest> {
  const { store } = options;
  const license = chooseToGiveBack(await store.read({ kind: 'list_usage' }), input);
  await store.execute({ kind: 'remove_license', licenseId: license.licenseId, isGivenBack: true, by });
  const { usage } = await makeUsage(options, by);
  const { product, licenseKey } = license;
  const { username } = input;
  return makeRequest(options, { request: 'deactivation', product, licenseKey, username, usage }, by);
}

/** A removed license can still be returned if it is named. */
function chooseToGiveBack(records: readonly UsageRecord[], input: DeactivationInput): UsageRecord {
  const { product, licenseKey, licenseId } = input;
  const isNamed = licenseKey !== null || licenseId !== null;
  const meant = records
    .filter(({ feature, isRemoved }) => feature === null && (isNamed || !isRemoved))
    .filter((record) => product === null || record.product === product)
    .filter((record) => licenseKey === null || record.licenseKey === licenseKey)
    .filter((record) => licenseId === null || record.licenseId === licenseId);
  if (meant[0] === undefined) {
    throw new RequestError(
      'license_not_found',
      'This server has no such license that was installed from a file.',
    );
  }
  if (meant.length === 1) return meant[0];
  throw new RequestError('missing_parameters', 'Select the license with "license_key" or "license_id".');
}

/** Creates a file with all consumption. */
export async function writeUsage(options: RequestOptions, by: Actor): Promise<MadeUsage> {
  const { usage, privateKey } = await makeUsage(options, by);
  const fileName = `berth-usage-${usage.sequence}.usage`;
  return { usageData: writeUsageFile(usage, privateKey), fileName, sequence: usage.sequence };
}

/** Takes the number first: what is counted in between is in this file and in the next. */
async function makeUsage({ store, identity }: RequestOptions, by: Actor) {
  const outcome = await store.execute({ kind: 'number_usage', by });
  const sequence = outcome.kind === 'done' ? outcome.count : 0;
  const records = await store.read({ kind: 'list_usage' });
  const { privateKey, publicKey } = await readIdentityKey(store);
  const usage: Usage = {
    schema_version: 1,
    sequence,
    hardware_id: await identity.readHardwareId(),
    date: formatTimestamp((await store.keepClock()).wall),
    server_key: publicKey,
    licenses: records
      .filter(({ feature }) => feature === null)
      .map((record) => describeUsage(record, records)),
  };
  return { usage, privateKey };
}

function describeUsage({ licenseId, licenseKey, consumed }: UsageRecord, records: readonly UsageRecord[]) {
  return {
    license_id: licenseId as number,
    license_key: licenseKey,
    consumed,
    features: records.flatMap((record) =>
      record.licenseId === licenseId && record.feature !== null
        ? [{ code: record.feature, consumed: record.consumed }]
        : [],
    ),
  };
}
