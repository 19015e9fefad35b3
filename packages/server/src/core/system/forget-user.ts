import { unchanged } from '../decision.ts';
import type { ForgetUser } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** What the history knows of a user is added to what it knows of others. The event does not tell the name. */
export const forgetUser = {
  ...ON_SERVER,
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
