import { randomUUID } from 'node:crypto';
import {
  CloudFault,
  type CloudRefusal,
  type CloudReply,
  type Counted,
  isCredible,
  KEY_REFUSALS,
} from '../../cloud/cloud.ts';
import type { License, LicenseId } from '../../core/nouns/license.ts';
import type { BacklogRecord, OpenReport } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { type CheckParts, checkLicense, identify } from './cloud-check.ts';
import { goThrough } from './go-through.ts';

interface ReporterOptions extends CheckParts {
  /** How long an unclear report is left alone before the cloud's total is believed. */
  readonly settleMs: number;
  readonly readMonotonicMs: () => number;
}

/** Tells the vendor what was consumed. `core/lending/reports.ts` has the protocol. */
export interface Reporter {
  /**
   * Reports what is pending of a license and of its features. Answers the first refusal of the cloud, and
   * throws a `CloudFault` where it cannot be asked.
   */
  report(license: License): Promise<CloudRefusal | null>;
  /**
   * Other servers have reported until now. What they have left under way is as unclear as after a restart,
   * and so is what this one knew of its own reports: another one may have sent them since.
   */
  takeOver(): void;
}

export function createReporter(options: ReporterOptions): Reporter {
  const { store } = options;
  const unclear = new UnclearReports(options.readMonotonicMs, options.settleMs);
  return {
    async report(license) {
      let first: CloudRefusal | null = null;
      await goThrough(await listBacklog(store, license), async (record) => {
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
  // A report that cannot even be sent is none: after a restart nobody would know that it never was.
  await options.session.requireUsable();
  const open = underWay ?? (await cut(options, unclear, license, feature));
  if (open === null) return null;
  // Beside the leader, a server only knows for sure what it has cut a moment ago.
  const isOurs = underWay === null || options.store.isLeader();
  const sendable = { ...open, feature, isOurs };
  const isDone = await settleUnclear(options, unclear, license, sendable);
  return isDone ? null : send(options, unclear, license, sendable);
}

/** Takes what is pending into a report of its own; `null`: nothing is. */
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
  /** No other server sends it. */
  readonly isOurs: boolean;
}

/**
 * A report that may have been counted without our knowing is only sent again where the cloud counts an id
 * once. Elsewhere its total decides, once a request that is still on its way would have arrived; and only the
 * leader goes by it, because two servers that find at once that it was not counted would both send it.
 * Answers whether there is nothing more to do for now.
 */
async function settleUnclear(
  options: ReporterOptions,
  unclear: UnclearReports,
  license: License,
  { id: reportId, feature, isOurs }: Sendable,
): Promise<boolean> {
  if (isOurs && unclear.isCertainlyNotCounted(reportId)) return false;
  if (await doesKnowIds(options, license, feature)) return false;
  if (!options.store.isLeader() || !unclear.isRipe(reportId)) return true;
  const result = await checkLicense(options, license);
  if (result.kind === 'refused') return true;
  const { total, features } = result.counted;
  const cloudTotal = feature === null ? total : features.find(({ code }) => code === feature)?.total;
  if (cloudTotal === undefined) return true;
  const { id: licenseId } = license;
  const told = { cloudTotal, takesLower: result.counted.takesLower };
  await options.store.execute({ kind: 'resolve_report', licenseId, feature, reportId, ...told });
  const isDone = (await findOpen(options.store, licenseId, feature)) === null;
  if (isDone) unclear.forget(reportId);
  else unclear.noteUnsent(reportId);
  return isDone;
}

/** A report of nothing: it changes no total, and its answer shows whether the cloud takes note of ids. */
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
  // That an id was counted before is no word about the amount: somebody may have changed that on the way.
  const isSure = reply.isBound && wasUncounted;
  const told = { isCounted: true, cloudTotal, isSure, isEchoed, takesLower: reply.isBound, by: 'cloud' };
  await options.store.execute({ kind: 'settle_report', licenseId, feature, reportId, ...told });
  // An answer that may be to an older report has not settled this one: its fate is as unclear as without.
  const isLeft = !isSure && (await findOpen(options.store, licenseId, feature))?.id === reportId;
  if (isLeft) unclear.noteUnclear(reportId);
  else unclear.forget(reportId);
  return null;
}

interface RefusedReport {
  readonly licenseId: LicenseId;
  readonly feature: string | null;
  readonly reportId: string;
  /** Nothing of it was on its way when it was sent. */
  readonly wasUncounted: boolean;
}

/**
 * A vendor that refuses a report has not counted it: its amount is pending again, and goes into the next one
 * together with what is counted until then. But if an earlier try may have been counted, the refusal says
 * nothing about that, and nothing else will. Keys that are not taken are a matter of the link.
 */
async function followRefusal(
  store: Store,
  unclear: UnclearReports,
  { wasUncounted, ...report }: RefusedReport,
  refusal: CloudRefusal,
): Promise<void> {
  if (!refusal.isSigned) return unclear.noteUnclear(report.reportId);
  // The cloud refuses keys before it reads what the request is about. The report is sent again under its id.
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

/** Which reports the cloud certainly has not counted, and since when the others are unclear. */
class UnclearReports {
  readonly #readMonotonicMs: () => number;
  readonly #settleMs: number;
  readonly #uncounted = new Set<string>();
  readonly #sinceMs = new Map<string, number>();

  constructor(readMonotonicMs: () => number, settleMs: number) {
    this.#readMonotonicMs = readMonotonicMs;
    this.#settleMs = settleMs;
  }

  /** It was not sent, or it is certain that the cloud did not count it. */
  noteUnsent(reportId: string): void {
    this.#uncounted.add(reportId);
    this.#sinceMs.delete(reportId);
  }

  /** It was sent, and nobody heard what became of it. */
  noteUnclear(reportId: string): void {
    this.#uncounted.delete(reportId);
    this.#sinceMs.set(reportId, this.#readMonotonicMs());
  }

  isCertainlyNotCounted(reportId: string): boolean {
    return this.#uncounted.has(reportId);
  }

  /** Whether a request that was sent would have arrived by now; one of an earlier run starts to wait. */
  isRipe(reportId: string): boolean {
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
