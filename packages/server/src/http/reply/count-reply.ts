import type { Executed } from '../../services/lending/lending.ts';
import { refusalReply } from './problem.ts';
import { json, type Reply } from './reply.ts';

/** How many it concerned, under the word for what was done. */
export function countReply(verb: string, outcome: Executed): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return json({ [verb]: outcome.kind === 'done' ? outcome.count : 0 });
}
