import { type SystemChange, unchanged } from '../decision.ts';
import type { CloudKeyName } from '../nouns/audit-event.ts';
import { type GrantKey, isInKeySet, lastGrantEnd } from '../nouns/grant-key.ts';
import { type Refused, refuse } from '../outcome.ts';
import type { RotateGrantKey, RotateMasterKey, SetCloudKeys, SetWebhookSecret } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Sets both keys in one decision, so that two callers never leave one key of each behind. */
export const setCloudKeys = {
  ...ON_SERVER,
  scope: 'secrets',

  decide({ apiKey, sharedKey, fingerprints, by }) {
    const changes: SystemChange[] = [];
    const changed: CloudKeyName[] = [];
    if (apiKey !== null) {
      changes.push({ kind: 'put_secret', name: 'cloud_api_key', secret: apiKey });
      changed.push('api_key');
    }
    if (sharedKey !== null) {
      changes.push({ kind: 'put_secret', name: 'cloud_shared_key', secret: sharedKey });
      changed.push('shared_key');
    }
    const shown = {
      apiKeyFingerprint: apiKey === null ? null : fingerprints.apiKey,
      sharedKeyFingerprint: sharedKey === null ? null : fingerprints.sharedKey,
    };
    const events = changed.length === 0 ? [] : [{ kind: 'cloud_keys_set', changed, ...shown, by } as const];
    return { outcome: { kind: 'done', count: changed.length }, changes, events };
  },
} satisfies SystemModule<SetCloudKeys>;

export const setWebhookSecret = {
  ...ON_SERVER,
  scope: 'secrets',

  decide: ({ secret, fingerprint, by }) => ({
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_secret', name: 'webhook_secret', secret }],
    events: [{ kind: 'webhook_secret_set', fingerprint, by }],
  }),
} satisfies SystemModule<SetWebhookSecret>;

/** A key that is in force already is not replaced: repeating the request does no harm. */
export const rotateMasterKey = {
  scope: 'secrets',
  needs: () => ({ masterKey: true }),

  decide({ newKey, newFingerprint: to, by }, facts: Pick<SystemFacts, 'masterKeyFingerprint'>) {
    const from = facts.masterKeyFingerprint;
    if (from === to) return unchanged();
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'reseal_secrets', newKey }],
      events: [{ kind: 'master_key_rotated', from, to, by }],
    };
  },
} satisfies SystemModule<RotateMasterKey>;

/** Other servers could not open anything any more, and would keep sealing with the old key. */
export function refuseRotation(otherServers: number): Refused | null {
  if (otherServers === 0) return null;
  const who = otherServers === 1 ? '1 other server uses' : `${otherServers} other servers use`;
  return refuse(
    'other_servers_running',
    `${who} this database with the same master key. Stop them first, replace the key, and give them the ` +
      'new one before they start.',
  );
}

/** Clients read all of them, and each may stay for as long as a certificate. */
const MAX_KEYS = 16;

/** Replaces the key that signs grants. The replaced one stays until every grant that it signed has ended. */
export const rotateGrantKey = {
  scope: 'all',
  needs: () => ({ licenses: true, grantKeys: true }),

  decide(command, facts: Pick<SystemFacts, 'licenses' | 'grantKeys'>, now) {
    const { kid, privateKey, isFirst = false, by } = command;
    const known = facts.grantKeys.filter((key) => isInKeySet(key, now));
    if (isFirst && known.length > 0) return unchanged();
    if (known.length >= MAX_KEYS) {
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
