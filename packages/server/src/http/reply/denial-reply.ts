import { ERRORS } from '@berth/protocol/errors';
import type { Reply } from '@berth/web/reply';
import type { Refused } from '../../core/outcome.ts';
import { refusalReply } from './problem.ts';
import { WaitingPace } from './waiting-pace.ts';

/** What was asked for, as the client names it. */
interface Wanted {
  readonly product?: string | undefined;
  readonly license_id?: number | undefined;
  readonly feature?: string | undefined;
}

/** Replies to a client that gets no slot. */
export type ReplyDenial = (refused: Refused, wanted: Wanted) => Reply;

/** If waiting may help, the reply says when to ask again. */
export function createDenialReply(readMonotonicMs: () => number): ReplyDenial {
  const pace = new WaitingPace();
  return (refused, { product, license_id, feature }) => {
    const reply = refusalReply(refused);
    if (ERRORS[refused.code].endsByWaiting !== true) return reply;
    const { retryAfterSeconds } = refused.details;
    if (typeof retryAfterSeconds === 'number') return waitFor(reply, retryAfterSeconds);
    const seconds = pace.takeTurn(JSON.stringify([product, license_id, feature]), readMonotonicMs());
    return waitFor(reply, seconds);
  };
}

function waitFor(reply: Reply, seconds: number): Reply {
  return { ...reply, headers: { 'Retry-After': String(seconds) } };
}
