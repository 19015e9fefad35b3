import { placeOf } from '@berth/protocol/address-range';
import { LIMITS } from '../../config.ts';
import { RequestError } from '../../services/request-error.ts';
import type { Peer } from '../access/caller.ts';

/** Throws if an address has sent too many requests. */
export type AdmitClient = (peer: Peer) => void;

interface RateOptions {
  /** 0 means no limit. */
  readonly requestsPerMinute: number;
  readonly readMonotonicMs: () => number;
}

const MINUTE_MS = 60_000;

/**
 * The request rate per address. Each has a token bucket with the requests of a minute, which refills evenly.
 * A bucket is stored as one number: when it will be full again.
 */
export function createClientRate({ requestsPerMinute, readMonotonicMs }: RateOptions): AdmitClient {
  if (requestsPerMinute === 0) return () => {};
  const intervalMs = MINUTE_MS / requestsPerMinute;
  const mostMs = MINUTE_MS - intervalMs;
  const fullAtMs = new Map<string, number>();
  return ({ address: from, isControl }) => {
    if (isControl) return;
    const address = placeOf(from);
    const nowMs = readMonotonicMs();
    const before = Math.max(fullAtMs.get(address) ?? nowMs, nowMs);
    // Parts of a millisecond are what fractions lose on the way.
    const waitMs = Math.floor(before - nowMs - mostMs);
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
    // Reinserted, it becomes the last; the first is then the one idle longest.
    fullAtMs.delete(address);
    fullAtMs.set(address, before + intervalMs);
    if (fullAtMs.size > LIMITS.countedAddresses) fullAtMs.delete(fullAtMs.keys().next().value as string);
  };
}

function tooMany(seconds: number): RequestError {
  return new RequestError(
    'too_many_requests',
    `Too many requests from this address. Try again in ${seconds} s.`,
    {},
    seconds,
  );
}
