import type { Executed } from '../../services/lending/lending.ts';
import { refusalReply } from './problem.ts';
import { json, type Reply } from './reply.ts';

/** Returns how many were affected, under the name of the operation. */
export function countReply(verb: string, outcome: Executed): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return json({ [verb]: outcome.kind === 'done' ? outcome.count : 0 });
}
