import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import type { CloudRefusal, Identification, LicenseHolder, Vouched } from '../cloud/cloud.ts';
import type { Actor } from '../core/command.ts';
import { type License, type LicenseId, NO_TIE } from '../core/license.ts';
import type { LicenseRecord } from '../store/query.ts';
import type { Store } from '../store/store.ts';
import { type CheckParts, identify, install } from './cloud-check.ts';
import { RequestError } from './request-error.ts';

/** A license to be added: by its key, or by the user it was issued to. */
export interface AddRequest {
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly username: string | null;
  readonly password: string | null;
}

/** Which license is to be removed. */
export interface RemoveRequest {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
  readonly licenseKey: string | null;
}

/**
 * Activates a license at the cloud for this machine, and adds it, or refreshes it where it is known. Nothing
 * is added before the vendor's signed word is there. Whatever happens in between, doing it again is harmless:
 * the cloud takes it for the same activation.
 */
export async function addLicense(parts: CheckParts, request: AddRequest, by: Actor): Promise<LicenseRecord> {
  const { store, session, identity, host } = parts;
  const { product, holder } = readRequest(request);
  const hardwareId = await identity.readHardwareId();
  const { now: askedAt } = await store.keepClock();
  const meant = { hardwareId, product, holder };
  const reply = await session.ask((cloud, keys) => cloud.activate(keys, meant, host));
  if (reply.kind === 'refused') throw refusalError(reply);
  if (!reply.value.isFloating) await rejectNotFloating(parts, meant);
  const known = await findRecord(store, reply.value.license.id);
  const username = 'username' in holder ? holder.username : null;
  const knowsReportIds = known?.license.tie.knowsReportIds ?? false;
  const tie = { ...NO_TIE, hardwareId, username, knowsReportIds };
  await install(store, reply.value, { tie, counted: { ...reply.value.counted, askedAt }, by });
  return requireRecord(store, reply.value);
}

function readRequest({ product, licenseKey, username, password }: AddRequest) {
  if (product === null) throw new RequestError('missing_parameters', 'Say which "product" it is.');
  if (licenseKey !== null) return { product, holder: { licenseKey } as LicenseHolder };
  if (username === null || password === null) {
    throw new RequestError(
      'missing_parameters',
      'Send the license key ("licenseKey"), or "username" and "password".',
    );
  }
  return { product, holder: { username, password } as LicenseHolder };
}

/** The activation is given back, so that the vendor's books are as they were. */
async function rejectNotFloating({ session }: CheckParts, meant: Identification): Promise<never> {
  await session.ask((cloud, keys) => cloud.deactivate(keys, meant)).catch(() => {});
  throw new RequestError(
    'license_not_floating',
    'This license is for a single machine: it has no slots that a server could lend.',
  );
}

async function findRecord(store: Store, id: LicenseId): Promise<LicenseRecord | undefined> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  return records.find(({ license }) => license.id === id);
}

async function requireRecord(store: Store, { license }: Vouched): Promise<LicenseRecord> {
  return (await findRecord(store, license.id)) as LicenseRecord;
}

/** Says of the product's licenses which one is meant; with several, the caller has to. */
export async function chooseToRemove(store: Store, request: RemoveRequest): Promise<License> {
  const { product, licenseId, licenseKey } = request;
  if (product === null && licenseId === null && licenseKey === null) {
    throw new RequestError('missing_parameters', 'Say which "product", "license_id" or "licenseKey" it is.');
  }
  const records = await store.read({ kind: 'list_licenses', product });
  if (product !== null && records.length === 0) {
    throw new RequestError('unknown_product', `This server holds no license of the product "${product}".`);
  }
  const meant = records
    .map(({ license }) => license)
    .filter(({ id }) => licenseId === null || id === licenseId)
    .filter(({ key }) => licenseKey === null || key === licenseKey);
  if (meant[0] === undefined) {
    throw new RequestError('license_not_found', 'This server does not hold that license.');
  }
  if (meant.length === 1) return meant[0];
  throw new RequestError(
    'missing_parameters',
    `This server holds ${meant.length} such licenses. Say which with "license_id" or "licenseKey".`,
  );
}

/** Takes an activation back that has ended, and answers whether the cloud agreed. */
export async function activateAgain(parts: CheckParts, license: License): Promise<boolean> {
  const { session, identity, host } = parts;
  const meant = identify(license, await identity.readHardwareId());
  return (await session.ask((cloud, keys) => cloud.activate(keys, meant, host))).kind === 'ok';
}

/** Gives the activation back to the cloud. One that the cloud does not know is given back already. */
export async function deactivate({ session, identity }: CheckParts, license: License): Promise<void> {
  const meant = identify(license, await identity.readHardwareId());
  const reply = await session.ask((cloud, keys) => cloud.deactivate(keys, meant));
  if (reply.kind === 'refused' && !GONE_ALREADY.has(reply.code)) throw refusalError(reply);
}

const GONE_ALREADY: ReadonlySet<string> = new Set(['device_not_found', 'license_not_found']);

/** The cloud's refusal for the administrator: under its own code where that is one of ours. */
export function refusalError({ code, message }: CloudRefusal): RequestError {
  const isOurs = Object.hasOwn(ERRORS, code) && ERRORS[code as ErrorCode].status < 500;
  const said = message === '' ? code : message;
  if (isOurs) return new RequestError(code as ErrorCode, `The licensing cloud refused: ${said}`);
  return new RequestError('cloud_refused', `The licensing cloud refused: ${said}`, { cloudCode: code });
}
