import { backOffMs } from '../back-off.ts';
import { type Duration, parseDuration } from '../duration.ts';
import { UnreachableError } from '../errors.ts';
import type { Account } from '../lending/account.ts';
import { pause } from '../pause.ts';

export interface CountOptions {
  /** Counts on this feature instead of the license. */
  readonly feature?: string;
  /** A count with the same key counts once. By default, every call has its own. */
  readonly key?: string;
  /** How long to try if no server answers; by default 30 seconds. */
  readonly retryFor?: Duration;
}

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

export function describeCount(account: Account, count: number, options: CountOptions): Count {
  const { product, user, licenseId, environment } = account;
  return {
    key: options.key ?? environment.createId(),
    path: options.feature === undefined ? 'add_consumption' : 'add_feature_consumption',
    body: {
      product,
      user,
      consumptions: count,
      ...(licenseId === null ? {} : { license_id: licenseId }),
      ...(options.feature === undefined ? {} : { feature: options.feature }),
    },
  };
}

export async function sendCount({ servers }: Account, { key, path, body }: Count): Promise<Total> {
  const { fields } = await servers.post(path, body, { 'idempotency-key': key });
  return {
    total: Number(fields.total_consumptions),
    max: Number(fields.max_consumptions),
    isUnlimited: fields.allow_unlimited_consumptions === true,
  };
}

/** Repeats the count under its key while no server answers. */
export async function countNow(account: Account, count: number, options: CountOptions): Promise<Total> {
  const described = describeCount(account, count, options);
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
