import type { HeadsSigned } from '../../../core/nouns/audit-event.ts';
import type { SignableHeads } from '../../../core/system-module.ts';
import type { Batch } from '../batch.ts';
import { type ChainHead, eventText, SYSTEM_CHAIN } from './audit-chain.ts';

export function loadHeads(batch: Batch): SignableHeads {
  const written = headsOf(batch).filter(([, head]) => head.n > 0);
  return { isSigned: batch.ledger.isSigned || batch.signed !== null, heads: written.map(nameHead) };
}

export function signHeads(batch: Batch, heads: HeadsSigned['heads']): void {
  batch.signed = batch.ledger.sign(heads);
  batch.systemEvents.push(eventText(batch.signed));
}

/** The head of every chain before this commit, including removed licenses. */
export function headsOf({ licenses, systemHead }: Batch): readonly (readonly [number, ChainHead])[] {
  const heads = Array.from(licenses.entries(), ({ license, head }) => [license.id, head] as const);
  return [[SYSTEM_CHAIN, systemHead], ...heads];
}

function nameHead([chain, { n, mac }]: readonly [number, ChainHead]): HeadsSigned['heads'][number] {
  return [chain, n, Buffer.from(mac).toString('hex')];
}
