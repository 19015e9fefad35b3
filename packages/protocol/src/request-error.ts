import type { ErrorCode } from './errors.ts';

/** A request that cannot be decided: something is missing, unreadable or not allowed. */
export class RequestError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string | number>>;
  /** For retryable codes: after how many seconds to retry. */
  readonly retryAfterSeconds: number;

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, string | number>> = {},
    retryAfterSeconds = 1,
  ) {
    super(message);
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
