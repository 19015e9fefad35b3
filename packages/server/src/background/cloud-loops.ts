import { backOffMs } from '../core/back-off.ts';
import { Fault } from '../core/nouns/fault.ts';
import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import type { CloudLink } from '../services/cloud/cloud-link.ts';
import type { Credentials } from '../services/cloud/credentials.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Every interval varies by up to a tenth, so that servers that started together do not call together. */
const JITTER = 0.1;

/** The first round comes soon after the start, but not from all servers at once. */
const FIRST_ROUND_MS = 5 * SECOND_MS;

/** The wait after a failure doubles each time, up to a quarter of an hour. */
const BACK_OFF = { firstMs: 5 * SECOND_MS, longestMs: 15 * MINUTE_MS };

/** Checks every license at the cloud. */
export function createCloudChecks(link: CloudLink, log: Log, intervalMs: number): Loop {
  return createCloudLoop(link, log, { intervalMs, work: () => link.checkAll() });
}

/** Reports consumption to the cloud. */
export function createCloudReports(link: CloudLink, log: Log, intervalMs: number): Loop {
  return createCloudLoop(link, log, { intervalMs, work: () => link.reportAll() });
}

interface CloudRounds {
  readonly intervalMs: number;
  work(): Promise<void>;
}

function createCloudLoop(link: CloudLink, log: Log, { intervalMs, work }: CloudRounds): Loop {
  let isFirst = true;
  let failedRounds = 0;
  return createLoop({
    intervalMs() {
      const wanted = isFirst ? Math.min(FIRST_ROUND_MS, intervalMs) : intervalMs;
      isFirst = false;
      failedRounds = link.isFailing() ? failedRounds + 1 : 0;
      return chooseDelayMs(wanted, failedRounds, Math.random());
    },
    work,
    // The link reports a failing cloud, once; the store reports a failing disk.
    onError: (error) => {
      if (!(error instanceof Fault))
        log.error({ error: String(error) }, 'a round with the licensing cloud failed');
    },
  });
}

/** `chance` is between 0 and 1. While the cloud fails, even an hourly check is retried sooner. */
export function chooseDelayMs(intervalMs: number, failures: number, chance: number): number {
  if (failures === 0) return intervalMs * (1 - JITTER + 2 * JITTER * chance);
  return backOffMs(failures, BACK_OFF, chance);
}

/** Picks up keys for the licensing cloud that were set at another server, to try them at once. */
export function createKeyWatch(credentials: Credentials, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    work: () => credentials.refresh(),
    onError: (error) => log.debug({ error: String(error) }, 'the keys could not be read'),
  });
}
