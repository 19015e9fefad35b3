import type { ErrorCode } from '@berth/protocol/errors';

/**
 * The disk, the database or the cloud is unavailable. Adapters throw it in place of their driver's errors;
 * the caller gets a 5xx and may retry.
 */
export class Fault extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
