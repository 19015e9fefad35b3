import { randomUUID } from 'node:crypto';
import type { Fault } from '../core/nouns/fault.ts';
import type { Log } from '../telemetry/log.ts';
import { bugReply } from './reply/problem.ts';
import type { Reply } from './reply/reply.ts';

interface LoggedRequest {
  readonly route: string;
  /** Where it came from, so that somebody who tries doors can be found. */
  readonly address: string;
}

export interface RequestLog {
  /**
   * A request was answered. Writes a line only where it is worth one, or where every request is asked for.
   */
  note(request: LoggedRequest, reply: Reply, durationMs: number): void;
  /** Something that the server stands on is away. Told once a second at most: such things come in floods. */
  noteFault(route: string, error: Fault): void;
  /** A bug: the caller gets a request id, the log gets the rest under it. */
  noteBug(route: string, error: unknown): Reply;
}

interface RequestLogOptions {
  readonly log: Log;
  readonly logRequests: boolean;
  readonly slowRequestMs: number;
  readonly readMonotonicMs: () => number;
}

const FAULT_INTERVAL_MS = 1000;

/** What an attempt to come in looks like: no credentials, not enough of them, too many tries. */
const REFUSED = new Set([401, 403, 429]);

export function createRequestLog(options: RequestLogOptions): RequestLog {
  const { log, logRequests, slowRequestMs, readMonotonicMs } = options;
  let lastFaultMs = Number.NEGATIVE_INFINITY;
  const refused = new Map<string, { lastMs: number; more: number }>();

  /** One line a second for each route and status: whoever tries doors makes floods, too. */
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
