import { backOffMs } from '../back-off.ts';
import { type Duration, parseDuration } from '../duration.ts';
import { UnreachableError } from '../errors.ts';
import { type OptionNames, refuseUnknown } from '../known-options.ts';
import type { Account } from '../lending/account.ts';
import { pause } from '../pause.ts';

/** What counts are for. */
export interface CountTarget {
  readonly product: string;
  /** `null` if the application names no user. A key counts once for each user that is sent. */
  readonly user: string | null;
  /** The license of the held slot; `null` without a slot. */
  readonly licenseId: number | null;
}

export interface CountOptions {
  /** Counts on this feature instead of the license. */
  readonly feature?: string | undefined;
  /**
   * A count with the same key counts once within a day: for the license, for counting on it or on a feature,
   * and for the `user` of the client, if it has one. By default, every call has its own key.
   */
  readonly key?: string | undefined;
  /** How long to try if no server answers; by default 30 seconds. */
  readonly retryFor?: Duration | undefined;
}

const COUNT_OPTIONS: OptionNames<CountOptions> = { feature: true, key: true, retryFor: true };

/** The state after a count. */
export interface Total {
  readonly total: number;
  /** Meaningless if `isUnlimited`. */
  readonly max: number;
  readonly isUnlimited: boolean;
}

/** A count as it is sent. It has to be repeated exactly: a key belongs to all of its fields. */
export interface Count {
  readonly key: string;
  readonly path: 'add_consumption' | 'add_feature_consumption';
  readonly body: Readonly<Record<string, unknown>>;
}

const RETRY_FOR_MS = 30_000;
const LONGEST_PAUSE_MS = 5000;

export function describeCount(
  target: CountTarget,
  count: number,
  options: CountOptions,
  newKey: () => string,
): Count {
  refuseUnknown('A count', options, COUNT_OPTIONS);
  const { product, user, licenseId } = target;
  return {
    key: options.key ?? newKey(),
    path: options.feature === undefined ? 'add_consumption' : 'add_feature_consumption',
    body: {
      product,
      ...(user === null ? {} : { user }),
      consumptions: count,
      ...(licenseId === null ? {} : { license_id: licenseId }),
      ...(options.feature === undefined ? {} : { feature: options.feature }),
    },
  };
}

/** `store`: as for `Servers.post`. */
export async function sendCount(
  { servers }: Account,
  { key, path, body }: Count,
  store?: string | null,
): Promise<Total> {
  const headers = { 'idempotency-key': key };
  const { fields } = await servers.post(path, body, { headers, ...(store === undefined ? {} : { store }) });
  return {
    total: Number(fields.total_consumptions),
    max: Number(fields.max_consumptions),
    isUnlimited: fields.allow_unlimited_consumptions === true,
  };
}

/** Repeats the count under its key while no server answers. */
export async function countNow(
  account: Account,
  target: CountTarget,
  count: number,
  options: CountOptions,
): Promise<Total> {
  const described = describeCount(target, count, options, () => account.environment.createId());
  const forMs = options.retryFor === undefined ? RETRY_FOR_MS : parseDuration('retryFor', options.retryFor);
  const deadlineMs = account.clock.readMs() + forMs;
  for (let failures = 0; ; failures++) {
    try {
      return await sendCount(account, described);
    } catch (error) {
      if (!(error instanceof UnreachableError) || account.clock.readMs() >= deadlineMs) throw error;
      await pause(account.environment, backOffMs(failures, LONGEST_PAUSE_MS, account.environment.random));
    }
  }
}
