import type { Executed } from '../../services/lending/lending.ts';
import { refusalReply } from './problem.ts';
import type { Reply } from './reply.ts';

/** The refusal, or the reply with how many were affected. */
export function countReply(outcome: Executed, send: (count: number) => Reply): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return send(outcome.kind === 'done' ? outcome.count : 0);
}
