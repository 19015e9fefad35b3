import { backOffMs } from '../core/back-off.ts';
import { Fault } from '../core/nouns/fault.ts';
import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import type { CloudLink } from '../services/cloud/cloud-link.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** Servers that were started together must not ask together: every interval differs by up to a tenth. */
const JITTER = 0.1;

/** The first round comes soon after the start, but not from all servers at once. */
const FIRST_ROUND_MS = 5 * SECOND_MS;

/** After a failure the cloud is left alone, twice as long each time, up to a quarter of an hour. */
const BACK_OFF = { firstMs: 5 * SECOND_MS, longestMs: 15 * MINUTE_MS };

/** Asks the cloud about every license. */
export function createCloudChecks(link: CloudLink, log: Log, intervalMs: number): Loop {
  return createCloudLoop(link, log, { intervalMs, work: () => link.checkAll() });
}

/** Tells the cloud what was consumed. */
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
    // That the cloud fails is told by the link, once; that the disk does, by the store.
    onError: (error) => {
      if (!(error instanceof Fault))
        log.error({ error: String(error) }, 'a round with the licensing cloud failed');
    },
  });
}

/** `chance` is between 0 and 1. While the cloud fails, even an hourly check is tried again sooner. */
export function chooseDelayMs(intervalMs: number, failures: number, chance: number): number {
  if (failures === 0) return intervalMs * (1 - JITTER + 2 * JITTER * chance);
  return backOffMs(failures, BACK_OFF, chance);
}
