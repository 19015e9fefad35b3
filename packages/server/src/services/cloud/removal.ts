import { RequestError } from '@berth/protocol/request-error';
import { isCredible } from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { BacklogRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { type AddParts, refusalError } from './activation.ts';
import { type CheckParts, identify } from './cloud-check.ts';
import type { Reporter } from './cloud-report.ts';

/** The license to remove. */
export interface RemoveRequest {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
  readonly licenseKey: string | null;
}

interface RemoveParts extends AddParts {
  readonly reporter: Reporter;
}

/**
 * Reports consumption, deactivates the license at the cloud, and removes it here. `isLocal`: does not contact
 * the cloud. Nor does it for a license that was moved here with its data from another machine: activation
 * and consumption belong to that machine.
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
    // Another request may have removed it.
    const license = await chooseToRemove(store, { ...request, licenseId: id });
    const isTold = license.source === 'cloud' && license.tie.movedAt === null && !isLocal;
    if (isTold) {
      await tellEverything(parts, license);
      await deactivate(parts, license);
    }
    await store.execute({ kind: 'remove_license', licenseId: license.id, isGivenBack: isTold, by });
    return license;
  });
}

/**
 * Consumption is reported before its activation ends. If an earlier removal has ended the activation without
 * our knowing, the license is activated again for this. Refused and uncertain reports do not keep the
 * license: they stay in the list of reports.
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
      'The licensing cloud has not confirmed all consumption yet. Try again in a minute, or remove the ' +
        'license locally.',
    );
  }
}

async function hasUntold(store: Store, { id }: License): Promise<boolean> {
  const records = await store.read({ kind: 'list_backlog' });
  const isUntold = ({ pending, underWay }: BacklogRecord) => pending !== 0 || underWay !== null;
  return records.some((record) => record.licenseId === id && isUntold(record));
}

/** Selects the license; if several match, the caller has to choose. */
async function chooseToRemove(store: Store, request: RemoveRequest): Promise<License> {
  const { product, licenseId, licenseKey } = request;
  if (product === null && licenseId === null && licenseKey === null) {
    throw new RequestError('missing_parameters', 'Send "product", "license_id" or "licenseKey".');
  }
  const records = await store.read({ kind: 'list_licenses', product });
  if (product !== null && records.length === 0) {
    throw new RequestError('unknown_product', `This server has no license for product "${product}".`);
  }
  const meant = records
    .map(({ license }) => license)
    .filter(({ id }) => licenseId === null || id === licenseId)
    .filter(({ key }) => licenseKey === null || key === licenseKey);
  if (meant[0] === undefined) {
    throw new RequestError('license_not_found', 'This server does not have that license.');
  }
  if (meant.length === 1) return meant[0];
  throw new RequestError(
    'missing_parameters',
    `This server has ${meant.length} such licenses. Select one with "license_id" or "licenseKey".`,
  );
}

/** Activates a deactivated license again, and returns whether the cloud agreed. */
async function activateAgain(parts: CheckParts, license: License): Promise<boolean> {
  const { session, identity, host } = parts;
  const meant = identify(license, await identity.readHardwareId());
  return (await session.ask(license.id, (cloud, keys) => cloud.activate(keys, meant, host))).kind === 'ok';
}

/** Deactivates the license at the cloud. A license that the vendor does not know is already deactivated. */
async function deactivate({ session, identity }: CheckParts, license: License): Promise<void> {
  const meant = identify(license, await identity.readHardwareId());
  const reply = await session.ask(license.id, (cloud, keys) => cloud.deactivate(keys, meant));
  if (reply.kind === 'ok' || (isCredible(reply) && GONE_ALREADY.has(reply.code))) return;
  throw refusalError(reply);
}

const GONE_ALREADY: ReadonlySet<string> = new Set(['device_not_found', 'license_not_found']);
