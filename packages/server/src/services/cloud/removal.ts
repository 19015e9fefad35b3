import { isCredible } from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { BacklogRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { RequestError } from '../request-error.ts';
import { type AddParts, refusalError } from './activation.ts';
import { type CheckParts, identify } from './cloud-check.ts';
import type { Reporter } from './cloud-report.ts';

/** Which license is to be removed. */
export interface RemoveRequest {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
  readonly licenseKey: string | null;
}

interface RemoveParts extends AddParts {
  readonly reporter: Reporter;
}

/**
 * Gives a license up: reports what was consumed, gives the activation back, and removes it here. `isLocal`:
 * the cloud is not told. Neither is it for a license that came with its data from another machine: the
 * activation is that machine's, and so is what it counted.
 */
export async function removeLicense(
  parts: RemoveParts,
  request: RemoveRequest,
  isLocal: boolean,
  by: Actor,
): Promise<License> {
  const { store, locks } = parts;
  const { id } = await chooseToRemove(store, request);
  return locks.withLock(id, async () => {
    // Somebody else may have been at it.
    const license = await chooseToRemove(store, { ...request, licenseId: id });
    const isTold = license.source === 'cloud' && license.tie.movedAt === null && !isLocal;
    if (isTold) {
      await tellEverything(parts, license);
      await deactivate(parts, license);
    }
    await store.execute({ kind: 'remove_license', licenseId: license.id, by });
    return license;
  });
}

/**
 * What was consumed is told before the activation ends that it was consumed under. An earlier removal may
 * have ended it without our hearing of it: then it is taken back for this. What the vendor itself refuses to
 * count, and what is uncertain, is no reason to keep the license: it stays listed among the reports.
 */
async function tellEverything(parts: RemoveParts, license: License): Promise<void> {
  const first = await parts.reporter.report(license);
  const isEnded = first !== null && isCredible(first) && first.code === 'device_not_found';
  const mayTryAgain = (isEnded && (await activateAgain(parts, license))) || first === null;
  const refusal = mayTryAgain ? await parts.reporter.report(license) : first;
  if (refusal !== null && !isCredible(refusal)) throw refusalError(refusal);
  if (refusal === null && (await hasUntold(parts.store, license))) {
    throw new RequestError(
      'cloud_unavailable',
      'The licensing cloud has not yet confirmed everything that was consumed. Try again in a minute, or ' +
        'remove the license only here.',
    );
  }
}

async function hasUntold(store: Store, { id }: License): Promise<boolean> {
  const records = await store.read({ kind: 'list_backlog' });
  const isUntold = ({ pending, underWay }: BacklogRecord) => pending !== 0 || underWay !== null;
  return records.some((record) => record.licenseId === id && isUntold(record));
}

/** Says of the product's licenses which one is meant; with several, the caller has to. */
async function chooseToRemove(store: Store, request: RemoveRequest): Promise<License> {
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
async function activateAgain(parts: CheckParts, license: License): Promise<boolean> {
  const { session, identity, host } = parts;
  const meant = identify(license, await identity.readHardwareId());
  return (await session.ask(license.id, (cloud, keys) => cloud.activate(keys, meant, host))).kind === 'ok';
}

/** Gives the activation back to the cloud. One that the vendor does not know is given back already. */
async function deactivate({ session, identity }: CheckParts, license: License): Promise<void> {
  const meant = identify(license, await identity.readHardwareId());
  const reply = await session.ask(license.id, (cloud, keys) => cloud.deactivate(keys, meant));
  if (reply.kind === 'ok' || (isCredible(reply) && GONE_ALREADY.has(reply.code))) return;
  throw refusalError(reply);
}

const GONE_ALREADY: ReadonlySet<string> = new Set(['device_not_found', 'license_not_found']);
