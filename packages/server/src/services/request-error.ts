import type { ErrorCode } from '@berth/protocol/errors';

/** A request that cannot be decided at all: something is missing, unreadable or not allowed. */
export class RequestError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string | number>>;
  /** For codes that are worth another try: after how many seconds. */
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
