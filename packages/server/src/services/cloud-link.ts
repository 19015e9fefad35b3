import { CloudFault, type CloudHost, type CloudRefusal } from '../cloud/cloud.ts';
import type { Actor } from '../core/command.ts';
import type { Instant } from '../core/instant.ts';
import type { License, LicenseId } from '../core/license.ts';
import type { BacklogRecord, LicenseRecord } from '../store/query.ts';
import type { Store } from '../store/store.ts';
import {
  type AddRequest,
  activateAgain,
  addLicense,
  chooseToRemove,
  deactivate,
  type RemoveRequest,
  refusalError,
} from './activation.ts';
import { type CheckParts, checkLicense } from './cloud-check.ts';
import { createReporter, type Reporter } from './cloud-report.ts';
import type { CloudSession } from './cloud-session.ts';
import { goThrough } from './go-through.ts';
import type { Identity } from './identity.ts';
import { LicenseLocks } from './license-locks.ts';
import type { LinkError, LinkState, LinkStatus } from './link-state.ts';
import { RequestError } from './request-error.ts';

/**
 * The server's side of the licensing cloud: activates and deactivates licenses, checks them, and reports what
 * was consumed. Lending never waits for any of it. Work on one license is done one piece at a time, so that a
 * check never meets a report of the same license half-way.
 */
export interface CloudLink {
  add(request: AddRequest, by: Actor): Promise<LicenseRecord>;
  /** `isLocal`: the cloud is not told, and what it was not told before stays untold. */
  remove(request: RemoveRequest, isLocal: boolean, by: Actor): Promise<License>;
  /** Reports and checks now: one license, or all. What goes wrong with one is told with it. */
  sync(licenseId: LicenseId | null): Promise<readonly SyncResult[]>;
  /** The background's round of checks. Without a license it only tries the keys. */
  checkAll(): Promise<void>;
  /** The background's round of reports. */
  reportAll(): Promise<void>;
  /** An administrator knows what became of an uncertain report. */
  settle(reportId: string, isCounted: boolean, by: Actor): Promise<void>;
  listBacklog(): Promise<readonly BacklogRecord[]>;
  describe(): Promise<CloudStatus>;
  /** How often in a row the cloud could not be used. */
  countFailures(): number;
}

export interface SyncResult {
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly error: LinkError | null;
}

export interface CloudStatus extends LinkStatus {
  readonly url: string | null;
  /** Counted here, and in no report yet. */
  readonly pending: number;
  readonly reportsUnderWay: number;
  readonly reportsUncertain: number;
}

export interface CloudLinkOptions {
  readonly store: Store;
  readonly session: CloudSession;
  readonly identity: Identity;
  readonly state: LinkState;
  readonly host: CloudHost;
  readonly url: string | null;
  readonly settleMs: number;
  readonly readMonotonicMs: () => number;
}

interface LinkParts extends CheckParts {
  readonly reporter: Reporter;
  readonly locks: LicenseLocks;
}

export function createCloudLink(options: CloudLinkOptions): CloudLink {
  const { store, session, state } = options;
  const parts: LinkParts = { ...options, reporter: createReporter(options), locks: new LicenseLocks() };
  return {
    add: (request, by) => addLicense(parts, request, by),
    remove: (request, isLocal, by) => remove(parts, request, isLocal, by),
    sync: (licenseId) => sync(parts, licenseId),
    async checkAll() {
      if ((await session.findObstacle()) !== null) return;
      const licenses = await listCloudLicenses(store);
      if (licenses.length === 0) await session.ask((cloud, keys) => cloud.probe(keys));
      await goThrough(licenses, ({ id }) => onLicense(parts, id, (license) => checkLicense(parts, license)));
    },
    async reportAll() {
      if ((await session.findObstacle()) !== null) return;
      await goThrough(await listReportable(store), (id) =>
        onLicense(parts, id, async (license) => {
          if (license.tie.movedAt === null) await parts.reporter.report(license);
        }),
      );
    },
    settle: (reportId, isCounted, by) => settle(parts, reportId, isCounted, by),
    listBacklog: () => listCloudBacklog(store),
    describe: () => describe(options),
    countFailures: () => state.failures,
  };
}

async function listCloudLicenses(store: Store): Promise<readonly License[]> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  return records.map(({ license }) => license).filter(({ source }) => source === 'cloud');
}

/** Other licenses have no cloud to report to. */
async function listCloudBacklog(store: Store): Promise<readonly BacklogRecord[]> {
  return (await store.read({ kind: 'list_backlog' })).filter(({ source }) => source === 'cloud');
}

async function listReportable(store: Store): Promise<readonly LicenseId[]> {
  const records = await listCloudBacklog(store);
  const waiting = records.filter(({ pending, underWay }) => pending !== 0 || underWay !== null);
  return [...new Set(waiting.map(({ licenseId }) => licenseId))];
}

/** With the license as it is once nobody else is at work on it; one that is gone is left alone. */
function onLicense<T>(
  { locks, store }: LinkParts,
  id: LicenseId,
  work: (license: License) => Promise<T>,
): Promise<T | null> {
  return locks.withLock(id, async () => {
    const license = (await listCloudLicenses(store)).find((one) => one.id === id);
    return license === undefined ? null : work(license);
  });
}

async function remove(
  parts: LinkParts,
  request: RemoveRequest,
  isLocal: boolean,
  by: Actor,
): Promise<License> {
  const { store, locks } = parts;
  const license = await chooseToRemove(store, request);
  return locks.withLock(license.id, async () => {
    if (license.source === 'cloud' && !isLocal) {
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
 * count is no reason to keep the license.
 */
async function tellEverything(parts: LinkParts, license: License): Promise<void> {
  const first = await parts.reporter.report(license);
  const isEnded = first?.isSigned === true && first.code === 'device_not_found';
  const mayTryAgain = isEnded && (await activateAgain(parts, license));
  const refusal = mayTryAgain ? await parts.reporter.report(license) : first;
  if (refusal !== null && !refusal.isSigned) throw refusalError(refusal);
  if (refusal === null && (await hasReportUnderWay(parts, license))) {
    throw new RequestError(
      'cloud_unavailable',
      'The licensing cloud has not yet confirmed everything that was consumed. Try again in a minute, or ' +
        'remove the license only here.',
    );
  }
}

async function hasReportUnderWay({ store }: LinkParts, { id }: License): Promise<boolean> {
  const records = await listCloudBacklog(store);
  return records.some(({ licenseId, underWay }) => licenseId === id && underWay !== null);
}

async function sync(parts: LinkParts, licenseId: LicenseId | null): Promise<readonly SyncResult[]> {
  const all = await listCloudLicenses(parts.store);
  const meant = licenseId === null ? all : all.filter(({ id }) => id === licenseId);
  if (licenseId !== null && meant.length === 0) {
    throw new RequestError(
      'license_not_found',
      `This server holds no license with the id ${licenseId} that came from the cloud.`,
    );
  }
  // Where nothing can be asked, that is the answer.
  if (meant.length === 0) await parts.session.ask((cloud, keys) => cloud.probe(keys));
  const results: SyncResult[] = [];
  for (const { id, product } of meant) {
    const error = await onLicense(parts, id, (license) => syncLicense(parts, license));
    results.push({ licenseId: id, product, error });
  }
  return results;
}

/** Reports first: the check then finds the cloud's total with everything in it. */
async function syncLicense(parts: LinkParts, license: License): Promise<LinkError | null> {
  try {
    const isHere = license.tie.movedAt === null;
    const reported = isHere ? await parts.reporter.report(license) : null;
    const checked = await checkLicense(parts, (await findAgain(parts, license)) ?? license);
    const refusal = checked.kind === 'refused' ? checked.refusal : reported;
    return refusal === null ? null : describeRefusal(refusal);
  } catch (error) {
    if (!(error instanceof CloudFault)) throw error;
    const { code, reason, message } = error;
    return { code, reason, message };
  }
}

async function findAgain({ store }: LinkParts, { id }: License): Promise<License | undefined> {
  return (await listCloudLicenses(store)).find((license) => license.id === id);
}

function describeRefusal({ code, message }: CloudRefusal): LinkError {
  return { code, reason: null, message };
}

async function settle(
  { store, locks }: LinkParts,
  reportId: string,
  isCounted: boolean,
  by: Actor,
): Promise<void> {
  const backlog = await listCloudBacklog(store);
  if (backlog.some(({ underWay }) => underWay?.id === reportId)) {
    throw new RequestError('report_not_uncertain', 'This report settles itself when the cloud is reached.');
  }
  const record = backlog.find(({ uncertain }) => uncertain.some(({ id }) => id === reportId));
  if (record === undefined) {
    throw new RequestError('report_not_found', `There is no report ${reportId}: it may be settled already.`);
  }
  const { licenseId, feature } = record;
  const told = { isCounted, cloudTotal: null, knowsReportIds: false, by };
  await locks.withLock(licenseId, () =>
    store.execute({ kind: 'settle_report', licenseId, feature, reportId, ...told }),
  );
}

async function describe({ store, session, state, url }: CloudLinkOptions): Promise<CloudStatus> {
  const [obstacle, licenses, backlog] = await Promise.all([
    session.findObstacle(),
    listCloudLicenses(store),
    listCloudBacklog(store),
  ]);
  const link = state.describe();
  const remembered = licenses.map(({ tie }) => tie.checkedAt ?? 0);
  const reachedAt = Math.max(link.reachedAt ?? 0, ...remembered) as Instant;
  return {
    ...link,
    state: obstacle ?? link.state,
    url,
    reachedAt: reachedAt === 0 ? null : reachedAt,
    pending: backlog.reduce((sum, { pending }) => sum + pending, 0),
    reportsUnderWay: backlog.filter(({ underWay }) => underWay !== null).length,
    reportsUncertain: backlog.reduce((sum, { uncertain }) => sum + uncertain.length, 0),
  };
}
