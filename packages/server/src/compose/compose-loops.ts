import { createEventLoopWatch } from '../background/event-loop-watch.ts';
import {
  createBackupSchedule,
  createBackupWatch,
  createCertificateWatch,
  createClockKeeper,
  createHeadSigner,
  createHistoryThinner,
  createSettingsLoop,
  createSweeper,
} from '../background/housekeeping-loops.ts';
import { createLeaderGate } from '../background/leader-gate.ts';
import type { Loop } from '../background/loop.ts';
import { createGroupRefresher, createReservationSampler, createRulesLoop } from '../background/rules-loop.ts';
import type { Config } from '../config.ts';
import type { AuditTrail } from '../services/audit/audit-trail.ts';
import type { Backups } from '../services/backups/backups.ts';
import type { Certificates } from '../services/certificates/certificates.ts';
import type { CloudLink } from '../services/cloud/cloud-link.ts';
import { createHistory } from '../services/history/history.ts';
import { createHousekeeping } from '../services/lending/housekeeping.ts';
import type { Metrics } from '../services/metrics/metrics.ts';
import type { RuleBook } from '../services/rules/rule-book.ts';
import type { LiveSettings } from '../services/settings/live-settings.ts';
import { runTaskHere } from '../services/tasks/task.ts';
import { systemClock } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';

/** The loops of every server, and those of the leader. */
export interface Loops {
  readonly always: readonly Loop[];
  readonly leading: readonly Loop[];
}

interface HouseParts {
  readonly audit: AuditTrail;
  readonly backups: Backups;
  readonly ruleBook: RuleBook;
  readonly certificates: Certificates | null;
  readonly metrics: Metrics;
  readonly settings: LiveSettings;
}

/** The loops of every server. */
export function createHouseLoops(
  store: Store,
  { audit, backups, ruleBook, certificates, metrics, settings }: HouseParts,
  { sweeper, history }: Config,
  log: Log,
): Loops {
  const housekeeping = createHousekeeping(store);
  const { intervalSeconds } = sweeper;
  return {
    always: [
      createClockKeeper(housekeeping, log),
      createSettingsLoop(settings, log),
      createEventLoopWatch(metrics, systemClock.readMonotonicMs, log),
      ...(certificates === null ? [] : [createCertificateWatch(certificates, log)]),
    ],
    leading: [
      createRulesLoop(ruleBook, log),
      createReservationSampler(ruleBook, log),
      createGroupRefresher(ruleBook, log),
      createHeadSigner(audit, log),
      createHistoryThinner(createHistory(store, history, runTaskHere), log),
      createBackupSchedule(backups, log),
      createBackupWatch(backups, log),
      ...(intervalSeconds === 0 ? [] : [createSweeper(housekeeping, log, intervalSeconds)]),
    ],
  };
}

/** The services that remember the progress of the leader's work. */
interface Successors {
  readonly ruleBook: RuleBook;
  readonly cloudLink: CloudLink;
}

/** Lets time pass for the loops of the leader; the others watch the machine, not the store. */
export async function passTime(all: readonly Loops[], millis: number): Promise<void> {
  for (const loop of all.flatMap(({ leading }) => leading)) await loop.pass(millis);
}

/** Starts all loops and returns how to stop each. */
export function startLoops(
  store: Store,
  all: readonly Loops[],
  { ruleBook, cloudLink }: Successors,
  log: Log,
): readonly (() => Promise<void>)[] {
  const takeOver = () => {
    for (const successor of [ruleBook, cloudLink]) successor.takeOver();
  };
  const loops = all.flatMap(({ leading }) => leading);
  const gate = createLeaderGate({ isLeader: () => store.isLeader(), takeOver, loops }, log);
  const running = [...all.flatMap(({ always }) => always), gate];
  for (const one of running) one.start();
  return running.map((one) => one.stop);
}
