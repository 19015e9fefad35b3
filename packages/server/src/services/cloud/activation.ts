import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { RequestError } from '@berth/protocol/request-error';
import {
  CloudFault,
  type CloudRefusal,
  type Identification,
  type LicenseHolder,
  type Vouched,
} from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { type LicenseId, NO_TIE } from '../../core/nouns/license.ts';
import type { Refused } from '../../core/outcome.ts';
import type { LicenseRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { LicenseLocks } from '../lending/license-locks.ts';
import { askForCertificate, type CheckParts, checkLicense, install, withCertificate } from './cloud-check.ts';

/** A license to add: by its key, or by the user it was issued to. */
export interface AddRequest {
  readonly product: string | null;
  readonly licenseKey: string | null;
  readonly username: string | null;
  readonly password: string | null;
}

/**
 * Activates a license at the cloud for this machine, then adds it, or refreshes it if it is already
 * installed. Nothing is added without the vendor's signed answer. Repeating this after a failure is safe:
 * the cloud treats it as the same activation.
 */
export async function addLicense(parts: AddParts, request: AddRequest, by: Actor): Promise<LicenseRecord> {
  const { store, session, identity, host, locks, certification } = parts;
  const { product, holder } = readRequest(request);
  const hardwareId = await identity.readHardwareId();
  const { now: askedAt } = await store.keepClock();
  const meant = { hardwareId, licenseId: null, product, holder };
  const reply = await askForCertificate(certification, meant, (asked) =>
    session.ask(null, (cloud, keys) => cloud.activate(keys, asked, host)),
  );
  if (reply.kind === 'refused') throw refusalError(reply);
  const { value } = reply;
  return locks.withLock(value.license.id, async () => {
    const known = await findRecord(store, value.license.id);
    const activated = { ...meant, licenseId: value.license.id, sendsId: reply.isBound };
    if (!value.isFloating && known === undefined) await giveBack(parts, activated, NOT_FLOATING);
    const username = 'username' in holder ? holder.username : null;
    const key = 'licenseKey' in holder ? holder.licenseKey : '';
    const bare = { ...NO_TIE, hardwareId, username };
    const certificate = known?.license.tie.certificate;
    const tie = await withCertificate(certification, reply, bare, certificate);
    const counted = { ...value.counted, askedAt, takesLower: reply.isBound };
    const isNew = known === undefined ? { counted } : {};
    const outcome = await install(store, reply, { tie, key, by, ...isNew });
    if (outcome.kind === 'refused') await giveBack(parts, activated, outcome);
    await checkAgain(parts, value.license.id);
    return requireRecord(store, value);
  });
}

export interface AddParts extends CheckParts {
  readonly locks: LicenseLocks;
}

/**
 * During the activation, a report may have been settled, or the license removed. The activation is valid even
 * if this check fails now: the next one catches up.
 */
async function checkAgain(parts: AddParts, id: LicenseId): Promise<void> {
  const record = await findRecord(parts.store, id);
  if (record === undefined) return;
  await checkLicense(parts, record.license).catch((error: unknown) => {
    if (!(error instanceof CloudFault)) throw error;
  });
}

function readRequest({ product, licenseKey, username, password }: AddRequest) {
  if (product === null) throw new RequestError('missing_parameters', '"product" is missing.');
  if (licenseKey !== null && username !== null) {
    throw new RequestError('validation_error', 'Send either a license key or a user, not both.', {
      field: 'username',
    });
  }
  if (licenseKey !== null) return { product, holder: { licenseKey } as LicenseHolder };
  if (username === null || password === null) {
    throw new RequestError(
      'missing_parameters',
      'Send the license key ("licenseKey"), or "username" and "password".',
    );
  }
  return { product, holder: { username, password } as LicenseHolder };
}

/** Deactivates the license again, so that the vendor does not count it. */
async function giveBack(
  { session }: CheckParts,
  meant: Identification,
  { code, message }: Pick<Refused, 'code' | 'message'>,
): Promise<never> {
  await session.ask(null, (cloud, keys) => cloud.deactivate(keys, meant)).catch(() => {});
  throw new RequestError(code, message);
}

const NOT_FLOATING = {
  code: 'license_not_floating',
  message:
    'This license is for a single machine and has no slots to lend. Ask the vendor for a floating license.',
} as const;

async function findRecord(store: Store, id: LicenseId): Promise<LicenseRecord | undefined> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  return records.find(({ license }) => license.id === id);
}

async function requireRecord(store: Store, { license }: Vouched): Promise<LicenseRecord> {
  return (await findRecord(store, license.id)) as LicenseRecord;
}

/** Reports the cloud's refusal, with its code if we have the same one. */
export function refusalError({ code, message }: CloudRefusal): RequestError {
  const isOurs = Object.hasOwn(ERRORS, code) && ERRORS[code as ErrorCode].status < 500;
  const said = message === '' ? code : message;
  if (isOurs) return new RequestError(code as ErrorCode, `The licensing cloud refused: ${said}`);
  return new RequestError('cloud_refused', `The licensing cloud refused: ${said}`, { cloudCode: code });
}
