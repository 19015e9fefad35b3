import type { ErrorCode } from '@berth/protocol/errors';

/**
 * Something that the server stands on is away: the disk, the database, the cloud. Thrown by adapters, which
 * translate their driver's errors once; answered with a 5xx that the caller may retry.
 */
export class Fault extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
