import { ERRORS, type ErrorCode } from '@berth/protocol/errors';
import { JsonTextError } from '@berth/protocol/json-text';
import type { Refusal } from '../core/refusal.ts';
import { TooManyPasswords } from '../store/passwords.ts';
import type { Reply } from './reply.ts';

/** The request cannot be judged at all: thrown on the way to a decision. */
export class RequestError extends Error {
  readonly code: ErrorCode;
  readonly details: Refusal['details'];

  constructor(code: ErrorCode, message: string, details: Refusal['details'] = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Always `{status, code, message}`, with facts behind it. */
export function problem(code: ErrorCode, message: string, details: Refusal['details'] = {}): Reply {
  const { status } = ERRORS[code];
  const headers = status === 503 || status === 429 ? { 'Retry-After': '1' } : {};
  return { status, code, body: JSON.stringify({ status, code, message, ...details }), type: 'json', headers };
}

/** `null` for a bug: whatever it is, its text stays in the log. */
export function errorReply(error: unknown): Reply | null {
  if (error instanceof RequestError) return problem(error.code, error.message, error.details);
  if (error instanceof JsonTextError) return problem(error.code, error.message);
  if (error instanceof TooManyPasswords) {
    return problem('too_many_requests', 'Too many sign-ins at once. Try again in a few seconds.');
  }
  if (isStoreFailure(error)) {
    return problem('store_unavailable', 'The cloud cannot reach its data. Try again in a moment.');
  }
  return null;
}

/** Busy, locked, read-only, out of memory or of disk, input and output: the machine's trouble, no bug. */
const STORE_FAILURES = new Set([5, 6, 7, 8, 10, 13, 14]);

export function isStoreFailure(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  // Beyond the lowest byte SQLite says more about the same kind.
  return code === 'ERR_SQLITE_ERROR' && STORE_FAILURES.has(Number(errcode) & 0xff);
}

export function bugReply(): Reply {
  return problem('internal_error', 'Something went wrong inside the cloud. Its log says more.');
}
