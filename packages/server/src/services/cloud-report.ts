import { randomUUID } from 'node:crypto';
import { CloudFault, type CloudRefusal, type CloudReply, type Counted } from '../cloud/cloud.ts';
import type { License } from '../core/license.ts';
import type { BacklogRecord, OpenReport } from '../store/query.ts';
import type { Store } from '../store/store.ts';
import { type CheckParts, checkLicense, identify } from './cloud-check.ts';
import { goThrough } from './go-through.ts';

export interface ReporterOptions extends CheckParts {
  /** How long an unclear report is left alone before the cloud's total is believed. */
  readonly settleMs: number;
  readonly readMonotonicMs: () => number;
}

/** Tells the vendor what was consumed. `core/decide-report.ts` has the protocol. */
export interface Reporter {
  /**
   * Reports what is pending of a license and of its features. Answers the first refusal of the cloud, and
   * throws a `CloudFault` where it cannot be asked.
   */
  report(license: License): Promise<CloudRefusal | null>;
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
  const open = underWay ?? (await cut(options, unclear, license, feature));
  if (open === null) return null;
  const sendable = { ...open, feature };
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
  return findOpen(store, licenseId, feature);
}

async function findOpen(store: Store, licenseId: number, feature: string | null): Promise<OpenReport | null> {
  const records = await store.read({ kind: 'list_backlog' });
  const meter = records.find((record) => record.licenseId === licenseId && record.feature === feature);
  return meter?.underWay ?? null;
}

type Sendable = OpenReport & { readonly feature: string | null };

/**
 * A report that may have been counted without our knowing is only sent again where the cloud counts an id
 * once. Elsewhere its total decides, once a request that is still on its way would have arrived. Answers
 * whether there is nothing more to do for now.
 */
async function settleUnclear(
  options: ReporterOptions,
  unclear: UnclearReports,
  license: License,
  { id: reportId, feature }: Sendable,
): Promise<boolean> {
  if (license.tie.knowsReportIds || unclear.isCertainlyNotCounted(reportId)) return false;
  if (await doesKnowIds(options, license, feature)) return false;
  if (!unclear.isRipe(reportId)) return true;
  const result = await checkLicense(options, license);
  if (result.kind === 'refused') return true;
  const { total, features } = result.counted;
  const cloudTotal = feature === null ? total : features.find(({ code }) => code === feature)?.total;
  if (cloudTotal === undefined) return true;
  const { id: licenseId } = license;
  await options.store.execute({ kind: 'resolve_report', licenseId, feature, reportId, cloudTotal });
  return (await findOpen(options.store, licenseId, feature)) === null;
}

/** A report of nothing: it changes no total, and its answer shows whether the cloud takes note of ids. */
async function doesKnowIds(
  { session, identity }: ReporterOptions,
  license: License,
  feature: string | null,
): Promise<boolean> {
  const meant = identify(license, await identity.readHardwareId());
  const nothing = { feature, amount: 0, reportId: randomUUID() };
  const reply = await session.ask((cloud, keys) => cloud.report(keys, meant, nothing));
  return reply.kind === 'ok' && reply.value.knowsReportIds;
}

async function send(
  options: ReporterOptions,
  unclear: UnclearReports,
  license: License,
  { id: reportId, amount, feature }: Sendable,
): Promise<CloudRefusal | null> {
  const meant = identify(license, await options.identity.readHardwareId());
  unclear.noteSent(reportId);
  const reply = await askCarefully(unclear, reportId, () =>
    options.session.ask((cloud, keys) => cloud.report(keys, meant, { feature, amount, reportId })),
  );
  if (reply.kind === 'refused') {
    if (reply.isSigned) unclear.noteUnsent(reportId);
    return reply;
  }
  const { total: cloudTotal, knowsReportIds } = reply.value;
  const told = { isCounted: true, cloudTotal, knowsReportIds, by: 'cloud' };
  const { id: licenseId } = license;
  await options.store.execute({ kind: 'settle_report', licenseId, feature, reportId, ...told });
  unclear.forget(reportId);
  return null;
}

async function askCarefully(
  unclear: UnclearReports,
  reportId: string,
  ask: () => Promise<CloudReply<Counted>>,
): Promise<CloudReply<Counted>> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CloudFault && !error.mayHaveArrived) unclear.noteUnsent(reportId);
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

  /** It was not sent, or the cloud has said that it did not count it. */
  noteUnsent(reportId: string): void {
    this.#uncounted.add(reportId);
    this.#sinceMs.delete(reportId);
  }

  noteSent(reportId: string): void {
    this.#uncounted.delete(reportId);
    this.#sinceMs.set(reportId, this.#readMonotonicMs());
  }

  isCertainlyNotCounted(reportId: string): boolean {
    return this.#uncounted.has(reportId);
  }

  /** Whether a request that was sent would have arrived by now. One of an earlier run starts to wait. */
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
}
