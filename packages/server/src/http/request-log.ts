import { randomUUID } from 'node:crypto';
import type { Reply } from '@berth/web/reply';
import type { Fault } from '../core/nouns/fault.ts';
import type { Log } from '../telemetry/log.ts';
import type { RequestCounts } from '../telemetry/metrics/request-counts.ts';
import { bugReply } from './reply/problem.ts';

interface LoggedRequest {
  readonly route: string;
  /** The address of the client, so that attackers can be found. */
  readonly address: string;
}

export interface RequestLog {
  /** Counts an answered request, and logs it if it is notable, or if all requests are logged. */
  note(request: LoggedRequest, reply: Reply, durationMs: number): void;
  /** A dependency failed. Logged at most once a second. */
  noteFault(route: string, error: Fault): void;
  /** A bug: the caller gets a request id, the log has the details. */
  noteBug(route: string, error: unknown): Reply;
}

export interface RequestLogOptions {
  readonly log: Log;
  readonly requests: RequestCounts;
  readonly logRequests: boolean;
  readonly slowRequestMs: number;
  readonly readMonotonicMs: () => number;
}

const FAULT_INTERVAL_MS = 1000;

/** Statuses of possible attacks: no credentials, insufficient ones, too many attempts. */
const REFUSED = new Set([401, 403, 429]);

export function createRequestLog(options: RequestLogOptions): RequestLog {
  const { log, requests, logRequests, slowRequestMs, readMonotonicMs } = options;
  let lastFaultMs = Number.NEGATIVE_INFINITY;
  const refused = new Map<string, { lastMs: number; more: number }>();

  /** One line per second for each route and status, because attacks come in floods. */
  function noteRefused(facts: LoggedRequest & { status: number; ms: number }): void {
    const key = `${facts.route} ${facts.status}`;
    const nowMs = readMonotonicMs();
    const last = refused.get(key);
    if (last !== undefined && nowMs - last.lastMs < FAULT_INTERVAL_MS) {
      last.more += 1;
      return;
    }
    const more = last?.more ?? 0;
    refused.set(key, { lastMs: nowMs, more: 0 });
    log.warn(more === 0 ? facts : { ...facts, more }, 'request refused');
  }

  return {
    note({ route, address }, { status }, durationMs) {
      requests.note(route, status, durationMs);
      const facts = { route, address, status, ms: Math.round(durationMs) };
      if (durationMs > slowRequestMs) log.warn(facts, 'slow request');
      else if (logRequests) log.info(facts, 'request');
      else if (REFUSED.has(status)) noteRefused(facts);
    },
    noteFault(route, { code, cause }) {
      const nowMs = readMonotonicMs();
      if (nowMs - lastFaultMs < FAULT_INTERVAL_MS) return;
      lastFaultMs = nowMs;
      log.error({ route, code, cause: String(cause) }, 'request failed');
    },
    noteBug(route, error) {
      const requestId = randomUUID();
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log.error({ route, requestId, detail }, 'bug');
      return bugReply(requestId);
    },
  };
}
