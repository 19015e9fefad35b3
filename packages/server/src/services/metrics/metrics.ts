import { Fault } from '../../core/nouns/fault.ts';
import { Histogram } from '../../core/nouns/histogram.ts';
import { type Instant, SECOND_MS } from '../../core/nouns/instant.ts';
import type { ReservationSample } from '../../core/system-command.ts';
import type { LicenseRecord } from '../../store/query.ts';
import type { ClockStatus, Store } from '../../store/store.ts';
import { MetricPage } from '../../telemetry/metrics/metric-page.ts';
import type { RequestCounts } from '../../telemetry/metrics/request-counts.ts';
import type { Backups } from '../backups/backups.ts';
import type { CertificateFacts } from '../certificates/certificates.ts';
import type { CloudLink } from '../cloud/cloud-link.ts';
import type { WaitingRoom } from '../lending/waiting-room.ts';
import { listReservations } from '../rules/in-force.ts';
import { addLicenses, daysUntil } from './license-metrics.ts';

/** The state of the server, for monitoring. */
export interface Metrics {
  write(): Promise<string>;
  /** A timer fired this much too late. */
  noteLoopDelay(millis: number): void;
}

interface MetricsOptions {
  readonly store: Store;
  readonly cloudLink: CloudLink;
  readonly backups: Pick<Backups, 'describe'>;
  readonly requests: RequestCounts;
  readonly room: Pick<WaitingRoom, 'count' | 'waits'>;
  readonly version: string;
  readonly storeKind: string;
  /** Whether a licensing cloud is configured. */
  readonly usesCloud: boolean;
  readonly readTls: () => CertificateFacts | null;
  readonly readWall: () => Instant;
  readonly readMonotonicMs: () => number;
}

/** However many programs ask, the store is asked once in this time. */
const FACTS_MS = SECOND_MS;

/** Timers are exact to a millisecond, so there is no smaller bound. */
const LOOP_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export function createMetrics(options: MetricsOptions): Metrics {
  const { readMonotonicMs } = options;
  const loopDelays = new Histogram(LOOP_SECONDS);
  const startedAt = options.readWall();
  let known: { readonly facts: Promise<StoreFacts | null>; readonly atMs: number } | null = null;

  function findFacts(): Promise<StoreFacts | null> {
    const nowMs = readMonotonicMs();
    if (known === null || nowMs - known.atMs >= FACTS_MS) {
      known = { facts: readFacts(options), atMs: nowMs };
    }
    return known.facts;
  }

  return {
    noteLoopDelay: (millis) => loopDelays.note(millis / SECOND_MS),
    async write() {
      const facts = await findFacts();
      const page = new MetricPage();
      addProcess(page, options, startedAt);
      page.add('berth_event_loop_delay_seconds', loopDelays);
      addStore(page, options, facts);
      addRequests(page, options.requests);
      addWaiting(page, options.room);
      return page.write();
    },
  };
}

/** What only the store knows. */
interface StoreFacts {
  readonly licenses: readonly LicenseRecord[];
  readonly reservations: readonly ReservationSample[];
  readonly clock: ClockStatus | null;
  readonly cloud: Awaited<ReturnType<CloudLink['describe']>> | null;
  readonly backup: Awaited<ReturnType<Backups['describe']>>;
}

/** `null` if it cannot be read: monitoring must see the rest then, too. */
async function readFacts(options: MetricsOptions): Promise<StoreFacts | null> {
  const { store, cloudLink, usesCloud, backups } = options;
  try {
    const [licenses, { rules }, clock, cloud, backup] = await Promise.all([
      store.read({ kind: 'list_licenses', product: null }),
      store.read({ kind: 'find_rules' }),
      store.isHealthy() ? store.keepClock() : null,
      usesCloud ? cloudLink.describe() : null,
      backups.describe(),
    ]);
    return { licenses, reservations: await listReservations(store, rules), clock, cloud, backup };
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

function addProcess(page: MetricPage, options: MetricsOptions, startedAt: Instant): void {
  const { version, storeKind, readTls, readWall } = options;
  const { user, system } = process.cpuUsage();
  page.add('berth_build_info', 1, version, process.version, storeKind);
  page.add('process_start_time_seconds', startedAt / SECOND_MS);
  page.add('process_cpu_seconds_total', (user + system) / 1e6);
  const memory = findMemory();
  if (memory !== null) page.add('process_resident_memory_bytes', memory);
  const tls = readTls();
  if (tls !== null) page.add('berth_certificate_expiry_days', daysUntil(tls.validUntil, readWall()));
}

/** `null`: unknown, as where there is no /proc. */
function findMemory(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}

function addStore(page: MetricPage, options: MetricsOptions, facts: StoreFacts | null): void {
  const { store, readMonotonicMs } = options;
  const { tally } = store;
  page.add('berth_store_healthy', store.isHealthy() && facts !== null ? 1 : 0);
  page.add('berth_leader', store.isLeader() ? 1 : 0);
  for (const [code, count] of tally.denials) page.add('berth_denials_total', count, code);
  page.add('berth_batch_size', tally.batchSizes);
  page.add('berth_sync_duration_seconds', tally.syncSeconds);
  addPools(page, store);
  if (facts === null) return;
  addLicenses(page, facts.licenses, tally.peaks.read(readMonotonicMs()));
  for (const { product, feature, rule, reserved, unused } of facts.reservations) {
    page.add('berth_reserved_slots', reserved, product, feature, rule);
    page.add('berth_reserved_slots_kept_free', unused, product, feature, rule);
  }
  addCloud(page, options, facts);
  addBackup(page, options, facts);
  const { clock } = facts;
  if (clock !== null) page.add('berth_clock_offset_seconds', (clock.now - clock.wall) / SECOND_MS);
}

function addPools(page: MetricPage, store: Store): void {
  for (const { name, max, inUse, idle, waiting } of store.listPools()) {
    page.add('berth_database_connections', inUse, name, 'in_use');
    page.add('berth_database_connections', idle, name, 'idle');
    page.add('berth_database_connections_max', max, name);
    page.add('berth_database_connections_waiting', waiting, name);
  }
}

function addCloud(page: MetricPage, { cloudLink, readWall }: MetricsOptions, { cloud }: StoreFacts): void {
  if (cloud === null) return;
  page.add('berth_cloud_failing', cloudLink.isFailing() ? 1 : 0);
  if (cloud.reachedAt !== null) {
    page.add('berth_cloud_age_seconds', Math.max(0, readWall() - cloud.reachedAt) / SECOND_MS);
  }
  page.add('berth_cloud_backlog', cloud.pending);
  page.add('berth_cloud_reports', cloud.reportsUnderWay, 'under_way');
  page.add('berth_cloud_reports', cloud.reportsUncertain, 'uncertain');
}

function addBackup(page: MetricPage, { readWall }: MetricsOptions, { backup }: StoreFacts): void {
  page.add('berth_backup_failing', backup.failingAt === null ? 0 : 1);
  if (backup.lastAt !== null) {
    page.add('berth_backup_age_seconds', Math.max(0, readWall() - backup.lastAt) / SECOND_MS);
  }
}

function addRequests(page: MetricPage, requests: RequestCounts): void {
  for (const [route, { statuses, durations }] of requests.list()) {
    for (const [status, count] of statuses) page.add('berth_requests_total', count, route, String(status));
    page.add('berth_request_duration_seconds', durations, route);
  }
}

function addWaiting(page: MetricPage, room: MetricsOptions['room']): void {
  page.add('berth_waiting', room.count());
  page.add('berth_wait_seconds', room.waits.served, 'served');
  page.add('berth_wait_seconds', room.waits.denied, 'denied');
}
