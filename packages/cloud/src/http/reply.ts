import type { ErrorCode } from '@berth/protocol/errors';
import { problemReply, type TextReply } from '@berth/web/reply';
import type { Refusal } from '../core/refusal.ts';

/** The response of a route, before it is signed. */
export interface Reply extends TextReply {
  /** The error code, for the log. */
  readonly code?: string;
  /** It reveals whether a key exists, whatever its code; see `createGuessLimit`. */
  readonly isGuess?: true;
}

export function problem(code: ErrorCode, message: string, details: Refusal['details'] = {}): Reply {
  return { ...problemReply(code, message, details), code };
}
