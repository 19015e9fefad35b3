import { unchanged } from '../decision.ts';
import type { SignHeads } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Signs the heads of all chains as they stood before this commit. The event is the signature. */
export const signHeads = {
  ...ON_SERVER,
  scope: 'heads',
  needs: () => ({ heads: true }),

  decide(_command, { heads: { isSigned, heads } }: Pick<SystemFacts, 'heads'>) {
    if (isSigned) return unchanged();
    return { ...unchanged({ kind: 'done', count: heads.length }), changes: [{ kind: 'sign_heads', heads }] };
  },
} satisfies SystemModule<SignHeads>;
