import { limitOf } from '../access/role.ts';
import { CONFIRMED_MS } from '../access/token.ts';
import type { SignInPerson } from '../access-command.ts';
import { type SystemChange, unchanged } from '../decision.ts';
import { HOUR_MS, type Instant, plus } from '../nouns/instant.ts';
import { attemptKey, confirmedKey, type NoticeKey } from '../nouns/notice-key.ts';
import { refuse } from '../outcome.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';
import { endSetup } from './accounts.ts';
import { removeDead, tokenOf } from './tokens.ts';

/** Longer than an attempt may take, whatever the clocks of several servers say. */
const KEPT_MS = HOUR_MS;

/** The session has the role that the groups of the person give, until it ends. */
export const signInPerson = {
  ...ON_SERVER,
  needs: ({ attempt }) => (attempt === null ? {} : { notice: attemptKey(attempt) }),

  decide(command, { notedValue, isSetUp }: Pick<SystemFacts, 'notedValue' | 'isSetUp'>, now) {
    const { account, subject, address, session, isBrowser, attempt, shownAgoMs = null } = command;
    const by = { name: account, address };
    const isUsed = attempt !== null && notedValue !== null;
    const reason = isUsed ? 'It was used before.' : command.reason;
    const used = attempt === null ? [] : noteFor(attemptKey(attempt), now, now);
    if (isUsed || session === null) {
      const again = 'This sign-in was used before. Begin again with the button on the page.';
      return {
        ...unchanged(isUsed ? refuse('sign_in_refused', again) : undefined),
        changes: isUsed ? [] : used,
        events: [{ kind: 'sign_in_failed', account, ...(reason === null ? {} : { reason }), by }],
      };
    }
    const { tokenHash, role, products = null } = session;
    const kind = isBrowser ? 'session' : 'auth';
    const isConfirmed = shownAgoMs !== null && shownAgoMs < CONFIRMED_MS;
    const confirmed = isConfirmed ? noteFor(confirmedKey(tokenHash), plus(now, -shownAgoMs), now) : [];
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        ...used,
        ...confirmed,
        removeDead(now),
        ...endSetup({ isSetUp }, role, false),
        {
          kind: 'put_token',
          tokenHash,
          token: { ...tokenOf(tokenHash, now), kind, account, role, products },
        },
      ],
      events: [
        {
          kind: 'signed_in',
          account,
          role,
          ...limitOf(products),
          ...(subject === null ? {} : { subject }),
          by,
        },
      ],
    };
  },
} satisfies SystemModule<SignInPerson>;

function noteFor(key: NoticeKey, value: Instant, now: Instant): readonly SystemChange[] {
  return [
    { kind: 'forget_attempts', usedBy: plus(now, -KEPT_MS) },
    { kind: 'put_notice', key, value },
  ];
}
