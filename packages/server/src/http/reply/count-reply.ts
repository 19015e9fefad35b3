import type { Reply } from '@berth/web/reply';
import type { Executed } from '../../services/lending/lending.ts';
import { refusalReply } from './problem.ts';

/** The refusal, or the reply with how many were affected. */
export function countReply(outcome: Executed, send: (count: number) => Reply): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return send(outcome.kind === 'done' ? outcome.count : 0);
}
