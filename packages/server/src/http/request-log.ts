import { randomUUID } from 'node:crypto';
import type { Log } from '../telemetry/log.ts';
import { bugReply } from './problem.ts';
import type { Reply } from './reply.ts';

export interface RequestLog {
  /**
   * A request was answered. Writes a line only where it is worth one, or where every request is asked for.
   */
  note(route: string, reply: Reply, durationMs: number): void;
  /** A bug: the caller gets a request id, the log gets the rest under it. */
  noteBug(route: string, error: unknown): Reply;
}

interface RequestLogOptions {
  readonly log: Log;
  readonly logRequests: boolean;
  readonly slowRequestMs: number;
}

export function createRequestLog({ log, logRequests, slowRequestMs }: RequestLogOptions): RequestLog {
  return {
    note(route, { status }, durationMs) {
      const facts = { route, status, ms: Math.round(durationMs) };
      if (durationMs > slowRequestMs) log.warn(facts, 'slow request');
      else if (logRequests) log.info(facts, 'request');
      else if (status >= 500) log.error(facts, 'request failed');
      else if (status === 401) log.warn(facts, 'request refused');
    },
    noteBug(route, error) {
      const requestId = randomUUID();
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log.error({ route, requestId, detail }, 'bug');
      return bugReply(requestId);
    },
  };
}
