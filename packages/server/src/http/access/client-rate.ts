import { placeOf } from '@berth/protocol/address-range';
import { RequestError } from '@berth/protocol/request-error';
import type { Peer } from '@berth/web/http-request';
import { LIMITS } from '../../config.ts';

/** Throws if an address has sent too many requests. */
export type AdmitClient = (peer: Peer) => void;

export interface RateOptions {
  readonly settings: { readonly current: { readonly http: ClientLimits } };
  readonly readMonotonicMs: () => number;
}

interface ClientLimits {
  /** 0 means no limit. */
  readonly clientRequestsPerMinute: number;
}

const MINUTE_MS = 60_000;

/**
 * The request rate per address. Each has a token bucket with the requests of a minute, which refills evenly.
 * A bucket is stored as one number: when it will be full again.
 */
export function createClientRate({ settings, readMonotonicMs }: RateOptions): AdmitClient {
  const fullAtMs = new Map<string, number>();
  return ({ address: from, isControl }) => {
    const { clientRequestsPerMinute } = settings.current.http;
    if (isControl || clientRequestsPerMinute === 0) return;
    const intervalMs = MINUTE_MS / clientRequestsPerMinute;
    const mostMs = MINUTE_MS - intervalMs;
    const address = placeOf(from);
    const nowMs = readMonotonicMs();
    const before = Math.max(fullAtMs.get(address) ?? nowMs, nowMs);
    // Ignore rounding errors below a millisecond.
    const waitMs = Math.floor(before - nowMs - mostMs);
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
    // Reinserting moves the entry to the end, so the first entry is the least recent one.
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
