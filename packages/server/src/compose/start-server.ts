import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { listen } from '@berth/web/listen';
import manifest from '../../package.json' with { type: 'json' };
import { stopAll } from '../background/stop-all.ts';
import { deferApp } from '../http/deferred-app.ts';
import type { AuditTrail } from '../services/audit/audit-trail.ts';
import { openCertificates } from '../services/certificates/certificates.ts';
import type { Catalogue } from '../services/lending/catalogue.ts';
import { systemClock } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { describeNotice } from '../telemetry/notices.ts';
import { createRecentLines } from '../telemetry/recent-lines.ts';
import { explainTakenPort, explainTestClock, openServersStore, StartError } from './compose-store.ts';
import type { EventSignal, ServeOptions, Stop } from './serve-options.ts';

const VERSION = manifest.version;

/** A running server. */
export interface RunningServer extends Pick<Catalogue, 'findLendable'> {
  readonly url: string;
  /** Finishes running requests, stores everything, and ends. */
  stop(): Promise<void>;
}

/**
 * Starts a server. The port comes first: until it is bound, no folder, key or account is created. After a
 * failure, the next start is a first start again.
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const recent = createRecentLines();
  const log = createLog(options.config.log, { rewrite: options.rewrite, keep: recent.keep });
  for (const warning of options.warnings) log.warn(warning);
  const certificates = openCertificates(options.config.tls, {
    log,
    readWall: systemClock.readWall,
    warnDays: options.config.notices.certificateDays,
  });
  const app = deferApp();
  const place = { ...options.config, ...options.config.http, certificates, clock: systemClock };
  const listening = await listen(app, place).catch((error) => {
    throw explainTakenPort(options.config, error);
  });
  const stops: Stop[] = [listening.stop];
  const closes: Stop[] = [];
  try {
    const config = await options.completeConfig(options.config);
    const obstacle = options.testClock ? explainTestClock(config) : null;
    if (obstacle !== null) throw new StartError(obstacle);
    const eventSignal: EventSignal = { notify: () => {} };
    const opening = openForServer({ ...options, config }, eventSignal, log);
    closes.push(async () => (await opening).close());
    const [store, { serveStore }] = await Promise.all([opening, loadParts()]);
    const { url } = listening;
    const bound = { ...options, config, certificates, recent, eventSignal, app, url };
    const { audit, catalogue } = await serveStore(store, bound, log, stops);
    const { findLendable } = catalogue;
    return { url, findLendable, stop: () => stopServer({ stops, store, audit, log }) };
  } catch (error) {
    // Stop what was started: it would keep the process alive and the folder locked. Report the first error.
    await stopAll(stops, closes).catch(() => {});
    throw error;
  }
}

/** Most of the code is loaded while the threads of the store start, which thus come first. */
async function loadParts() {
  await turnOfEventLoop();
  return import('./compose.ts');
}

function openForServer(
  { config, env, onLost }: ServeOptions,
  eventSignal: EventSignal,
  log: Log,
): Promise<Store> {
  return openServersStore({
    config,
    env,
    version: VERSION,
    onNotice(notice) {
      describeNotice(log, notice);
      if (notice.kind === 'store_lost') onLost();
    },
    onNews: () => eventSignal.notify(),
  });
}

interface Stopping {
  readonly stops: readonly Stop[];
  readonly store: Store;
  readonly audit: AuditTrail;
  readonly log: Log;
}

async function stopServer({ stops, store, audit, log }: Stopping): Promise<void> {
  log.info('stopping');
  const event = { kind: 'server_stopped', version: VERSION } as const;
  const record = () => store.execute({ kind: 'record_event', event });
  await stopAll(stops, [record, audit.signHeads, () => store.close()]);
  log.info('stopped');
}
