import { type SystemChange, unchanged } from '../decision.ts';
import { type GrantKey, isInKeySet, lastGrantEnd } from '../nouns/grant-key.ts';
import { refuse } from '../outcome.ts';
import type { RotateGrantKey } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Clients read all of them, and each may stay for as long as a certificate. */
const MOST_KEYS = 16;

/** Replaces the key that signs grants. The replaced one stays until every grant that it signed has ended. */
export const rotateGrantKey = {
  ...ON_SERVER,
  scope: 'all',
  needs: () => ({ licenses: true, grantKeys: true }),

  decide(command, facts: Pick<SystemFacts, 'licenses' | 'grantKeys'>, now) {
    const { kid, privateKey, isFirst = false, by } = command;
    const known = facts.grantKeys.filter((key) => isInKeySet(key, now));
    if (isFirst && known.length > 0) return unchanged();
    if (known.length >= MOST_KEYS) {
      return unchanged(
        refuse(
          'too_many_grant_keys',
          `${known.length} keys still have grants or certificates that have not ended. Rotate again when ` +
            'the first of them has ended; "berth identity" shows when.',
        ),
      );
    }
    const end = ({ endsAt, ...key }: GrantKey): GrantKey => {
      return { ...key, endsAt: endsAt ?? lastGrantEnd(key.kid, facts.licenses, now) };
    };
    const keys: readonly GrantKey[] = [{ kid, privateKey, createdAt: now, endsAt: null }, ...known.map(end)];
    const [replaced] = known;
    const change: SystemChange = { kind: 'put_secret', name: 'grant_keys', secret: JSON.stringify(keys) };
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [change],
      events: replaced === undefined ? [] : [{ kind: 'grant_key_rotated', kid, replaced: replaced.kid, by }],
    };
  },
} satisfies SystemModule<RotateGrantKey>;
