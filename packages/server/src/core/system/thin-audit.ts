import type { AuditThinned } from '../nouns/audit-event.ts';
import { type Instant, say } from '../nouns/instant.ts';
import { type Done, type Refused, refuse } from '../outcome.ts';
import type { ThinAudit } from '../system-command.ts';

/** One command thins out at most this many links; the rest is left to the next. */
export const THIN_LIMIT = 10_000;

/** A chain that may be thinned out. */
export interface ThinnableChain {
  readonly chain: number;
  /** The last link that only a total is left of; 0: none. */
  readonly thinnedTo: number;
  /** The last link that is older than the date, at most the newest but one. */
  readonly oldTo: number;
  /** Every link that would go is as it was written: a total must not cover what was tampered with. */
  readonly isWhole: boolean;
}

export interface ThinDecision {
  readonly outcome: Done | Refused;
  readonly events: readonly AuditThinned[];
}

/** Which links give way to totals. A chain keeps its newest link, however old that is. */
export function decideThinAudit(
  { before, by }: ThinAudit,
  chains: readonly ThinnableChain[],
  now: Instant,
): ThinDecision {
  const refusal = refuseThinning(before, chains, now);
  if (refusal !== null) return { outcome: refusal, events: [] };
  const thinned = chains
    .filter(({ thinnedTo, oldTo }) => oldTo > thinnedTo)
    .map(({ chain, thinnedTo, oldTo }) => [chain, oldTo, oldTo - thinnedTo] as const);
  const count = thinned.reduce((sum, [, , links]) => sum + links, 0);
  return {
    outcome: { kind: 'done', count },
    events: count === 0 ? [] : [{ kind: 'audit_thinned', before: say(before), thinned, by }],
  };
}

function refuseThinning(before: Instant, chains: readonly ThinnableChain[], now: Instant): Refused | null {
  if (before > now) {
    const message = `"before" must not be in the future: it is ${say(now)} on this server.`;
    return refuse('validation_error', message, { field: 'before' });
  }
  const broken = chains.find(({ isWhole }) => !isWhole);
  if (broken === undefined) return null;
  const whose = broken.chain === 0 ? 'of the system' : `of the license ${broken.chain}`;
  return refuse(
    'audit_not_whole',
    `The chain ${whose} is not as it was written, and is left alone. Run "berth audit verify".`,
  );
}
