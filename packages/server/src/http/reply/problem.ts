import type { ErrorCode } from '@berth/protocol/errors';
import { JsonTextError } from '@berth/protocol/json-text';
import { RequestError } from '@berth/protocol/request-error';
import { problemReply, type Reply, type TextReply } from '@berth/web/reply';
import { Fault } from '../../core/nouns/fault.ts';
import type { Refused } from '../../core/outcome.ts';
import { toWire } from './to-wire.ts';

/**
 * Turns the four kinds of failure into responses: refusals of the core, rejected requests, failures of the
 * store or the cloud, and bugs. Always `{status, code, message}`, followed by facts.
 */
export function problem(
  code: ErrorCode,
  message: string,
  details: Refused['details'] = {},
  retryAfterSeconds?: number,
): TextReply {
  return problemReply(code, message, toWire(details), retryAfterSeconds);
}

export function refusalReply({ code, message, details }: Refused): Reply {
  return problem(code, message, details);
}

/** `null` for a bug: its message is only logged. */
export function errorReply(error: unknown): Reply | null {
  if (error instanceof RequestError) {
    return problem(error.code, error.message, error.details, error.retryAfterSeconds);
  }
  if (error instanceof JsonTextError) return problem(error.code, error.message);
  if (error instanceof Fault) return problem(error.code, error.message);
  return null;
}

export function bugReply(requestId: string): Reply {
  return problem(
    'internal_error',
    `Internal server error. The log has details under request id ${requestId}.`,
    { requestId },
  );
}
