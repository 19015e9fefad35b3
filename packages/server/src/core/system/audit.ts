import { unchanged } from '../decision.ts';
import { isAfter } from '../nouns/audit-position.ts';
import { DAY_MS, type Instant, plus, say } from '../nouns/instant.ts';
import { type Refused, refuse } from '../outcome.ts';
import type { SetCursor, SignHeads, ThinAudit } from '../system-command.ts';
import type { SystemFacts, SystemModule, ThinnableChain } from '../system-module.ts';

/** Signs the heads of all chains as they stood before this commit. The event is the signature. */
export const signHeads = {
  scope: 'heads',
  needs: () => ({ heads: true }),

  decide(_command, { heads: { isSigned, heads } }: Pick<SystemFacts, 'heads'>) {
    if (isSigned) return unchanged();
    return { ...unchanged({ kind: 'done', count: heads.length }), changes: [{ kind: 'sign_heads', heads }] };
  },
} satisfies SystemModule<SignHeads>;

/** One command thins out at most this many links; the rest is left to the next. */
export const THIN_LIMIT = 10_000;

/** Which links give way to totals. A chain keeps its newest link, however old that is. */
export const thinAudit = {
  scope: 'heads',
  needs: (command) => ({ chains: command }),

  decide(command, { chains }: Pick<SystemFacts, 'chains'>, now) {
    const { before, by } = command;
    const refusal = refuseThinning(command, chains, now);
    if (refusal !== null) return unchanged(refusal);
    const thinning = chains.filter(({ thinnedTo, oldTo }) => oldTo > thinnedTo);
    if (thinning.length === 0) return unchanged();
    const thinned = thinning.map(({ chain, thinnedTo, oldTo }) => [chain, oldTo, oldTo - thinnedTo] as const);
    return {
      outcome: { kind: 'done', count: thinned.reduce((sum, [, , links]) => sum + links, 0) },
      changes: thinning.flatMap(({ folded }) =>
        folded === null ? [] : [{ kind: 'put_segment', segment: folded } as const],
      ),
      events: [{ kind: 'audit_thinned', before: say(before), thinned, by }],
    };
  },
} satisfies SystemModule<ThinAudit>;

function refuseThinning(
  { chain, before, keptMs = 0 }: ThinAudit,
  chains: readonly ThinnableChain[],
  now: Instant,
): Refused | null {
  if (chain !== null && chains.length === 0) {
    return refuse('license_not_found', `This server holds no license with the id ${chain}.`);
  }
  if (before > now) {
    const message = `"before" must not be in the future: it is ${say(now)} on this server.`;
    return refuse('validation_error', message, { field: 'before' });
  }
  const latest = plus(now, -keptMs);
  if (before > latest) {
    const message =
      `The last ${keptMs / DAY_MS} days of the audit log can only be thinned on the server's machine: run ` +
      `"berth audit thin" there, or send a date up to ${say(latest)} as "before".`;
    return refuse('validation_error', message, { field: 'before' });
  }
  const broken = chains.find(({ isWhole }) => !isWhole);
  if (broken === undefined) return null;
  const whose = broken.chain === 0 ? 'of the system' : `of the license ${broken.chain}`;
  return refuse(
    'audit_not_whole',
    `The chain ${whose} was altered, so nothing was thinned out. Run "berth audit verify".`,
  );
}

/** Never moves back: a former leader may be late, and others have passed what it has delivered. */
export const setCursor = {
  scope: 'server',
  needs: ({ follower }) => ({ cursor: follower }),

  decide({ follower, position, memory, isFirst = false }, { cursor }: Pick<SystemFacts, 'cursor'>) {
    if (cursor === null) {
      if (memory !== undefined) return unchanged();
    } else {
      const isFurther = memory === undefined ? isAfter(position, cursor) : !isAfter(cursor, position);
      if (isFirst || !isFurther) return unchanged();
    }
    return {
      ...unchanged({ kind: 'done', count: 1 }),
      changes: [{ kind: 'set_cursor', follower, position, memory: memory ?? null }],
    };
  },
} satisfies SystemModule<SetCursor>;
