import { randomUUID } from 'node:crypto';
import {
  CloudFault,
  type CloudRefusal,
  type CloudReply,
  type Counted,
  isCredible,
  KEY_REFUSALS,
} from '../../cloud/cloud.ts';
import type { AboutReport } from '../../core/command.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { BacklogRecord, OpenReport } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { type CheckParts, checkLicense, identify } from './cloud-check.ts';
import { runSequentially } from './run-sequentially.ts';

interface ReporterOptions extends CheckParts {
  /** How long to wait after an unclear report before trusting the cloud's total. */
  readonly settleMs: number;
  readonly readMonotonicMs: () => number;
}

/** Reports consumption to the vendor. `core/lending/reports.ts` describes the protocol. */
export interface Reporter {
  /**
   * Reports the pending consumption of a license and its features. Returns the first refusal of the cloud;
   * throws a `CloudFault` if it cannot be reached.
   */
  report(license: License): Promise<CloudRefusal | null>;
  /**
   * Other servers have reported until now. Their unfinished reports are as unclear as after a restart, and
   * so are this server's own: another server may have sent them since.
   */
  takeOver(): void;
}

export function createReporter(options: ReporterOptions): Reporter {
  const { store } = options;
  const unclear = new UnclearReports(options.readMonotonicMs, options.settleMs);
  return {
    async report(license) {
      let first: CloudRefusal | null = null;
      await runSequentially(await listBacklog(store, license), async (record) => {
        const refusal = await reportMeter(options, unclear, license, record);
        first ??= refusal;
      });
      return first;
    },
    takeOver: () => unclear.forgetAll(),
  };
}

async function listBacklog(store: Store, license: License): Promise<readonly BacklogRecord[]> {
  const records = await store.read({ kind: 'list_backlog' });
  return records.filter(({ licenseId }) => licenseId === license.id);
}

async function reportMeter(
  options: ReporterOptions,
  unclear: UnclearReports,
  license: License,
  { feature, underWay, pending }: BacklogRecord,
): Promise<CloudRefusal | null> {
  if (underWay === null && pending === 0) return null;
  // Do not create a report that cannot be sent: after a restart it would be unclear whether it was.
  await options.session.requireUsable();
  const open = underWay ?? (await cut(options, unclear, license, feature));
  if (open === null) return null;
  // A server that does not lead only knows the state of reports it has just created.
  const isOurs = underWay === null || options.store.isLeader();
  const sendable = { ...open, feature, isOurs };
  const isDone = await settleUnclear(options, unclear, license, sendable);
  return isDone ? null : send(options, unclear, license, sendable);
}

/** Puts the pending amount into a new report; `null` if there is none. */
async function cut(
  { store }: ReporterOptions,
  unclear: UnclearReports,
  { id: licenseId }: License,
  feature: string | null,
): Promise<OpenReport | null> {
  const reportId = randomUUID();
  unclear.noteUnsent(reportId);
  await store.execute({ kind: 'cut_report', licenseId, feature, reportId });
  const open = await findOpen(store, licenseId, feature);
  if (open?.id !== reportId) unclear.forget(reportId);
  return open;
}

async function findOpen(
  store: Store,
  licenseId: LicenseId,
  feature: string | null,
): Promise<OpenReport | null> {
  const records = await store.read({ kind: 'list_backlog' });
  const meter = records.find((record) => record.licenseId === licenseId && record.feature === feature);
  return meter?.underWay ?? null;
}

interface Sendable extends OpenReport {
  readonly feature: string | null;
  /** Whether no other server sends it. */
  readonly isOurs: boolean;
}

/**
 * A report that may already have been counted is only sent again if the cloud counts each id once. Otherwise
 * the cloud's total decides, after the time in which a delayed request would have arrived; and only the
 * leader uses it, because two servers that both find that it was not counted would both send it. Returns
 * whether there is nothing more to do for now.
 */
async function settleUnclear(
  options: ReporterOptions,
  unclear: UnclearReports,
  license: License,
  { id: reportId, feature, isOurs }: Sendable,
): Promise<boolean> {
  if (isOurs && unclear.isCertainlyNotCounted(reportId)) return false;
  if (await doesKnowIds(options, license, feature)) return false;
  if (!options.store.isLeader() || !unclear.hasWaited(reportId)) return true;
  const result = await checkLicense(options, license);
  if (result.kind === 'refused') return true;
  const { total, features } = result.counted;
  const cloudTotal = feature === null ? total : features.find(({ code }) => code === feature)?.total;
  if (cloudTotal === undefined) return true;
  const { id: licenseId } = license;
  const known = { cloudTotal, takesLower: result.counted.takesLower };
  await options.store.execute({ kind: 'resolve_report', licenseId, feature, reportId, ...known });
  const isDone = (await findOpen(options.store, licenseId, feature)) === null;
  if (isDone) unclear.forget(reportId);
  else unclear.noteUnsent(reportId);
  return isDone;
}

/** An empty report: it changes no total, and its answer shows whether the cloud counts each id once. */
async function doesKnowIds(
  { session, identity }: ReporterOptions,
  license: License,
  feature: string | null,
): Promise<boolean> {
  const meant = identify(license, await identity.readHardwareId());
  const nothing = { feature, amount: 0, reportId: randomUUID() };
  const reply = await session.ask(license.id, (cloud, keys) => cloud.report(keys, meant, nothing));
  return reply.kind === 'ok' && reply.value.knowsReportIds;
}

async function send(
  options: ReporterOptions,
  unclear: UnclearReports,
  license: License,
  { id: reportId, amount, feature, isOurs }: Sendable,
): Promise<CloudRefusal | null> {
  const meant = identify(license, await options.identity.readHardwareId());
  const wasUncounted = isOurs && unclear.isCertainlyNotCounted(reportId);
  const reply = await askCarefully(unclear, reportId, () =>
    options.session.ask(license.id, (cloud, keys) =>
      cloud.report(keys, meant, { feature, amount, reportId }),
    ),
  );
  const { id: licenseId } = license;
  if (reply.kind === 'refused') {
    await followRefusal(options.store, unclear, { licenseId, feature, reportId, wasUncounted }, reply);
    return reply;
  }
  const { total: cloudTotal, knowsReportIds: isEchoed } = reply.value;
  // That an id was counted before does not confirm the amount: someone may have changed it on the way.
  const isSure = reply.isBound && wasUncounted;
  const settled = { isCounted: true, cloudTotal, isSure, isEchoed, takesLower: reply.isBound, by: 'cloud' };
  await options.store.execute({ kind: 'settle_report', licenseId, feature, reportId, ...settled });
  // The answer may belong to an older report, so this one remains as unclear as without an answer.
  const isLeft = !isSure && (await findOpen(options.store, licenseId, feature))?.id === reportId;
  if (isLeft) unclear.noteUnclear(reportId);
  else unclear.forget(reportId);
  return null;
}

interface RefusedReport extends AboutReport {
  /** Whether no earlier attempt was on its way when it was sent. */
  readonly wasUncounted: boolean;
}

/**
 * A refused report was not counted: its amount becomes pending again and is part of the next report. But if
 * an earlier attempt may have been counted, the refusal says nothing about that, and nothing else will.
 * Refused keys concern the link.
 */
async function followRefusal(
  store: Store,
  unclear: UnclearReports,
  { wasUncounted, ...report }: RefusedReport,
  refusal: CloudRefusal,
): Promise<void> {
  if (!refusal.isSigned) return unclear.noteUnclear(report.reportId);
  // The cloud checks keys before it reads the request. The report is sent again with the same id.
  if (KEY_REFUSALS.has(refusal.code)) return;
  if (!isCredible(refusal)) return unclear.noteUnclear(report.reportId);
  if (wasUncounted) {
    await store.execute({
      kind: 'settle_report',
      ...report,
      isCounted: false,
      cloudTotal: null,
      isSure: true,
      takesLower: false,
      by: 'cloud',
    });
  } else await store.execute({ kind: 'resolve_report', ...report, cloudTotal: null, takesLower: false });
  unclear.forget(report.reportId);
}

async function askCarefully(
  unclear: UnclearReports,
  reportId: string,
  ask: () => Promise<CloudReply<Counted>>,
): Promise<CloudReply<Counted>> {
  try {
    return await ask();
  } catch (error) {
    const mayHaveArrived = !(error instanceof CloudFault) || error.mayHaveArrived;
    if (mayHaveArrived) unclear.noteUnclear(reportId);
    throw error;
  }
}

/** Which reports the cloud has certainly not counted, and since when the others are unclear. */
class UnclearReports {
  readonly #readMonotonicMs: () => number;
  readonly #settleMs: number;
  readonly #uncounted = new Set<string>();
  readonly #sinceMs = new Map<string, number>();

  constructor(readMonotonicMs: () => number, settleMs: number) {
    this.#readMonotonicMs = readMonotonicMs;
    this.#settleMs = settleMs;
  }

  /** It was not sent, or the cloud has certainly not counted it. */
  noteUnsent(reportId: string): void {
    this.#uncounted.add(reportId);
    this.#sinceMs.delete(reportId);
  }

  /** It was sent, and its result is unknown. */
  noteUnclear(reportId: string): void {
    this.#uncounted.delete(reportId);
    this.#sinceMs.set(reportId, this.#readMonotonicMs());
  }

  isCertainlyNotCounted(reportId: string): boolean {
    return this.#uncounted.has(reportId);
  }

  /** Whether a delayed request would have arrived by now. For reports of earlier runs the wait starts now. */
  hasWaited(reportId: string): boolean {
    const nowMs = this.#readMonotonicMs();
    const sinceMs = this.#sinceMs.get(reportId) ?? nowMs;
    this.#sinceMs.set(reportId, sinceMs);
    return nowMs - sinceMs >= this.#settleMs;
  }

  forget(reportId: string): void {
    this.#uncounted.delete(reportId);
    this.#sinceMs.delete(reportId);
  }

  forgetAll(): void {
    this.#uncounted.clear();
    this.#sinceMs.clear();
  }
}
