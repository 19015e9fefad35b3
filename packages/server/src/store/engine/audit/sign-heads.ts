import type { HeadsSigned } from '../../../core/nouns/audit-event.ts';
import type { Done } from '../../../core/outcome.ts';
import type { Batch } from '../execute-command.ts';
import { type ChainHead, eventText, SYSTEM_CHAIN } from './audit-chain.ts';

/** Names the heads of all chains as they stood before this commit, and signs them. */
export function signHeads(batch: Batch): Done {
  const { ledger } = batch;
  if (ledger.isSigned || batch.signed !== null) return { kind: 'done', count: 0 };
  const heads = headsOf(batch).filter(([, head]) => head.n > 0);
  batch.signed = ledger.sign(heads.map(nameHead));
  batch.systemEvents.push(eventText(batch.signed));
  batch.isChanged = true;
  return { kind: 'done', count: heads.length };
}

/** The head of every chain before this commit, those of removed licenses too. */
export function headsOf({ shelf, systemHead }: Batch): readonly (readonly [number, ChainHead])[] {
  const licenses = [...shelf.entries()].map(({ license, head }) => [license.id, head] as const);
  return [[SYSTEM_CHAIN, systemHead], ...licenses];
}

function nameHead([chain, { n, mac }]: readonly [number, ChainHead]): HeadsSigned['heads'][number] {
  return [chain, n, Buffer.from(mac).toString('hex')];
}
