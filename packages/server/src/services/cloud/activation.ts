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
import type { LicenseRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { LicenseLocks } from '../lending/license-locks.ts';
import { findFault, findSame } from '../lending/same-license.ts';
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
  const { id } = value.license;
  const username = 'username' in holder ? holder.username : null;
  const key = 'licenseKey' in holder ? holder.licenseKey : value.license.key;
  const named = { id, product, key, username };
  const replaces = await findSame(store, named);
  return withLocks(locks, [id, ...replaces], async () => {
    const known = await findRecord(store, id);
    const isUsable = value.isFloating || known !== undefined;
    const fault = isUsable ? await findFault(store, named) : notFloating();
    if (fault !== null) await giveBack(parts, { ...meant, licenseId: id, sendsId: reply.isBound }, fault);
    const bare = { ...NO_TIE, hardwareId, username };
    const certificate = known?.license.tie.certificate;
    const tie = await withCertificate(certification, reply, bare, certificate);
    const counted = { ...value.counted, askedAt, takesLower: reply.isBound };
    await install(store, reply, { tie, key, by, replaces, ...(known === undefined ? { counted } : {}) });
    await checkAgain(parts, id);
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
  reason: RequestError,
): Promise<never> {
  await session.ask(null, (cloud, keys) => cloud.deactivate(keys, meant)).catch(() => {});
  throw reason;
}

function notFloating(): RequestError {
  return new RequestError(
    'license_not_floating',
    'This license is for a single machine and has no slots to lend. Ask the vendor for a floating license.',
  );
}

/** In one order, so that nobody waits for each other. */
function withLocks<T>(locks: LicenseLocks, ids: readonly LicenseId[], work: () => Promise<T>): Promise<T> {
  const sorted = ids.toSorted((a, b) => b - a);
  return sorted.reduce((inner, id) => () => locks.withLock(id, inner), work)();
}

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
