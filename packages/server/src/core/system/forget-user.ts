import { unchanged } from '../decision.ts';
import type { ForgetUser } from '../system-command.ts';
import type { SystemFacts, SystemModule } from '../system-module.ts';

/** Merges the history of a user into the anonymous totals. The event does not have the name. */
export const forgetUser = {
  scope: 'all',
  needs: ({ user }) => ({ historyOf: user }),

  decide({ user, by }, { namedRecords }: Pick<SystemFacts, 'namedRecords'>) {
    if (namedRecords === 0) return unchanged();
    return {
      outcome: { kind: 'done', count: namedRecords },
      changes: [{ kind: 'forget_user', user }],
      events: [{ kind: 'user_forgotten', records: namedRecords, by }],
    };
  },
} satisfies SystemModule<ForgetUser>;
