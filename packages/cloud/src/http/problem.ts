import type { ErrorCode } from '@berth/protocol/errors';
import { JsonTextError } from '@berth/protocol/json-text';
import { RequestError } from '@berth/protocol/request-error';
import type { Refusal } from '../core/refusal.ts';
import { TooManyPasswords } from '../store/passwords.ts';

/** An error, before it is written as JSON or as a page. */
export interface Problem {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Refusal['details'];
}

/** `null` for a bug: its text only goes to the log. */
export function findProblem(error: unknown): Problem | null {
  if (error instanceof RequestError) return error;
  if (error instanceof JsonTextError) return { code: error.code, message: error.message, details: {} };
  if (error instanceof TooManyPasswords) {
    const message = 'Too many sign-ins at once. Try again in a few seconds.';
    return { code: 'too_many_requests', message, details: {} };
  }
  if (isStoreFailure(error)) {
    const message = 'The cloud cannot reach its data. Try again in a moment.';
    return { code: 'store_unavailable', message, details: {} };
  }
  return null;
}

/** Busy, locked, read-only, out of memory or disk space, I/O error: a problem of the machine, not a bug. */
const STORE_FAILURES = new Set([5, 6, 7, 8, 10, 13, 14]);

export function isStoreFailure(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  // SQLite puts details above the lowest byte.
  return code === 'ERR_SQLITE_ERROR' && STORE_FAILURES.has(Number(errcode) & 0xff);
}

export const INTERNAL_ERROR: Problem = {
  code: 'internal_error',
  message: 'Internal error of the cloud. See its log.',
  details: {},
};
