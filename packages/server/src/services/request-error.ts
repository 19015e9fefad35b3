import type { ErrorCode } from '@berth/protocol/errors';

/** A request that cannot be decided at all: something is missing, unreadable or not allowed. */
export class RequestError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, string | number>>;

  constructor(code: ErrorCode, message: string, details: Readonly<Record<string, string | number>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}
