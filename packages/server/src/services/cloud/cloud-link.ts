import { RequestError } from '@berth/protocol/request-error';
import { CloudFault, type CloudHost, type CloudRefusal } from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { BacklogRecord, LicenseRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Certification } from '../grants/certification.ts';
import type { Identity } from '../identity/identity.ts';
import { LicenseLocks } from '../lending/license-locks.ts';
import { type AddRequest, addLicense, refusalError } from './activation.ts';
import { type CheckParts, checkLicense } from './cloud-check.ts';
import { createReporter, type Reporter } from './cloud-report.ts';
import type { CloudSession } from './cloud-session.ts';
import type { LinkError, LinkState, LinkStatus } from './link-state.ts';
import type { NonceRequirement } from './nonce-requirement.ts';
import { type RemoveRequest, removeLicense } from './removal.ts';
import { runSequentially } from './run-sequentially.ts';

/**
 * The server's side of the licensing cloud: activates, checks and deactivates licenses, and reports
 * consumption. Lending never waits for it. Operations on one license run one at a time, so that a check and
 * a report of the same license do not overlap. This holds within one server. With several servers, only the
 * leader runs the periodic rounds; requests of administrators to the others may overlap with them, which is
 * safe: activation and deactivation can be repeated, the store decides what is installed and settled and
 * rejects totals that a report has overtaken, and a report is sent twice only if the cloud counts it once.
 */
export interface CloudLink {
  add(request: AddRequest, by: Actor): Promise<LicenseRecord>;
  /** `isLocal`: do not contact the cloud; unreported consumption stays unreported. */
  remove(request: RemoveRequest, isLocal: boolean, by: Actor): Promise<License>;
  /** Reports and checks one license, or all, now. Each result has its own error. */
  sync(licenseId: LicenseId | null, accepting?: Accepting): Promise<readonly SyncResult[]>;
  /** The periodic round of checks. Without a license it only tries the keys. */
  checkAll(): Promise<void>;
  /** The periodic round of reports. */
  reportAll(): Promise<void>;
  /** Settles an uncertain report with what the administrator knows. */
  settle(reportId: string, isCounted: boolean, by: Actor): Promise<void>;
  listBacklog(): Promise<readonly BacklogRecord[]>;
  describe(): Promise<CloudStatus>;
  /** Asks the cloud whether it accepts the keys; `describe` has the result. */
  probe(): Promise<void>;
  /** Whether the last request, for any license, failed. */
  isFailing(): boolean;
  /** Other servers have run the rounds until now. */
  takeOver(): void;
}

/** What an administrator accepts from the cloud although it may be old. */
interface Accepting {
  /** Totals that are lower than before. */
  readonly older: boolean;
  /** Unbound answers of a cloud that has bound them before. */
  readonly unbound: boolean;
  readonly by: Actor;
}

interface SyncResult {
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly error: LinkError | null;
  /** What may still be unknown to the cloud, for the license and its features together. */
  readonly untold: { readonly pending: number; readonly underWay: number; readonly uncertain: number };
}

interface CloudStatus extends LinkStatus {
  readonly url: string | null;
  /** Counted here, but not in a report yet. */
  readonly pending: number;
  readonly reportsUnderWay: number;
  readonly reportsUncertain: number;
}

interface CloudLinkOptions {
  readonly store: Store;
  readonly session: CloudSession;
  readonly hold: NonceRequirement;
  readonly identity: Identity;
  readonly state: LinkState;
  readonly host: CloudHost;
  readonly certification: Certification;
  readonly url: string | null;
  readonly settleMs: number;
  readonly readMonotonicMs: () => number;
}

interface LinkParts extends CheckParts {
  readonly hold: NonceRequirement;
  readonly reporter: Reporter;
  readonly locks: LicenseLocks;
}

export function createCloudLink(options: CloudLinkOptions): CloudLink {
  const { store, session, state } = options;
  const parts: LinkParts = { ...options, reporter: createReporter(options), locks: new LicenseLocks() };
  return {
    add: (request, by) => addLicense(parts, request, by),
    async remove(request, isLocal, by) {
      const license = await removeLicense(parts, request, isLocal, by);
      state.drop(license.id);
      return license;
    },
    sync: (licenseId, accepting) => sync(parts, licenseId, accepting),
    async checkAll() {
      if ((await session.findObstacle()) !== null) return;
      const licenses = await listCloudLicenses(store);
      if (licenses.length === 0) await session.ask(null, (cloud, keys) => cloud.probe(keys));
      await runSequentially(licenses, ({ id }) =>
        onLicense(parts, id, (license) => checkLicense(parts, license)),
      );
    },
    async reportAll() {
      if ((await session.findObstacle()) !== null) return;
      await runSequentially(await listReportable(store), (id) =>
        onLicense(parts, id, async (license) => {
          if (license.tie.movedAt === null) await parts.reporter.report(license);
        }),
      );
    },
    settle: (reportId, isCounted, by) => settle(parts, reportId, isCounted, by),
    listBacklog: () => listCloudBacklog(store),
    describe: () => describe(options),
    async probe() {
      if ((await session.findObstacle()) !== null) return;
      await session.ask(null, (cloud, keys) => cloud.probe(keys)).catch(ignoreFault);
    },
    isFailing: () => state.isFailing,
    takeOver: () => parts.reporter.takeOver(),
  };
}

/** The state of the link remembers it. */
function ignoreFault(error: unknown): void {
  if (!(error instanceof CloudFault)) throw error;
}

async function listCloudLicenses(store: Store): Promise<readonly License[]> {
  const records = await store.read({ kind: 'list_licenses', product: null });
  return records.map(({ license }) => license).filter(({ source }) => source === 'cloud');
}

/** Only licenses from the cloud are reported. */
export async function listCloudBacklog(store: Store): Promise<readonly BacklogRecord[]> {
  return (await store.read({ kind: 'list_backlog' })).filter(({ source }) => source === 'cloud');
}

async function listReportable(store: Store): Promise<readonly LicenseId[]> {
  const records = await listCloudBacklog(store);
  const held = records.filter(({ isRemoved }) => !isRemoved);
  const waiting = held.filter(({ pending, underWay }) => pending !== 0 || underWay !== null);
  return [...new Set(waiting.map(({ licenseId }) => licenseId))];
}

/** Runs with the current license once other work on it has ended; skips a removed license. */
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

async function sync(
  parts: LinkParts,
  licenseId: LicenseId | null,
  accepting?: Accepting,
): Promise<readonly SyncResult[]> {
  const all = await listCloudLicenses(parts.store);
  const meant = licenseId === null ? all : all.filter(({ id }) => id === licenseId);
  if (licenseId !== null && meant.length === 0) {
    throw new RequestError(
      'license_not_found',
      `This server has no license with id ${licenseId} from the cloud.`,
    );
  }
  if (accepting?.unbound === true) await parts.hold.release(accepting.by);
  const acceptedBy = accepting?.older === true ? accepting.by : undefined;
  // Without a usable link, that is the result.
  if (meant.length === 0) await probe(parts);
  const results: SyncResult[] = [];
  for (const { id, product } of meant) {
    const error = await onLicense(parts, id, (license) => syncLicense(parts, license, acceptedBy));
    results.push({ licenseId: id, product, error, untold: await sumUntold(parts.store, id) });
  }
  return results;
}

/** Without a license to check, tries whether the cloud accepts the keys. */
async function probe({ session }: LinkParts): Promise<void> {
  const reply = await session.ask(null, (cloud, keys) => cloud.probe(keys));
  if (reply.kind === 'refused') throw refusalError(reply);
}

async function sumUntold(store: Store, id: LicenseId): Promise<SyncResult['untold']> {
  const records = (await listCloudBacklog(store)).filter(({ licenseId }) => licenseId === id);
  const sum = (amountOf: (record: BacklogRecord) => number) =>
    records.reduce((total, record) => total + amountOf(record), 0);
  return {
    pending: sum(({ pending }) => pending),
    underWay: sum(({ underWay }) => underWay?.amount ?? 0),
    uncertain: sum(({ uncertain }) => uncertain.reduce((total, { amount }) => total + amount, 0)),
  };
}

/** For a refusal that may be old. Until it is confirmed, lending continues. */
const WAITS = '(takes effect only if the next check confirms it)';

/** Reports first, so that the check finds a complete total at the cloud. */
async function syncLicense(
  parts: LinkParts,
  license: License,
  acceptedBy?: Actor,
): Promise<LinkError | null> {
  try {
    const isHere = license.tie.movedAt === null;
    const reported = isHere ? await parts.reporter.report(license) : null;
    const checked = await checkLicense(parts, (await findAgain(parts, license)) ?? license, acceptedBy);
    const refusal = checked.kind === 'refused' ? checked.refusal : reported;
    if (refusal === null) return null;
    const waiting = (await findAgain(parts, license))?.tie.assurance?.unconfirmed ?? null;
    const error = describeRefusal(refusal);
    return waiting === refusal.code ? { ...error, message: `${error.message} ${WAITS}` } : error;
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
    throw new RequestError(
      'report_not_uncertain',
      'This report is settled automatically when the cloud is reachable.',
    );
  }
  const record = backlog.find(({ uncertain }) => uncertain.some(({ id }) => id === reportId));
  if (record === undefined) {
    throw new RequestError(
      'report_not_found',
      `The report ${reportId} does not exist. It may already be settled.`,
    );
  }
  const { licenseId, feature } = record;
  const decision = { isCounted, cloudTotal: null, isSure: true, takesLower: false, by };
  await locks.withLock(licenseId, () =>
    store.execute({ kind: 'settle_report', licenseId, feature, reportId, ...decision }),
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
