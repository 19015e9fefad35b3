import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import type { CloudKeyName } from '../../core/nouns/audit-event.ts';
import type { CloudKeys } from '../../core/system-command.ts';
import { secretFingerprint } from '../../secrets/seal.ts';
import type { Store } from '../../store/store.ts';

/** The vendor's keys for the licensing cloud. They can be set, but only the cloud link can read them. */
export interface Credentials {
  /** Stores one key or both; `null` leaves a key unchanged. Does not try them at the cloud. */
  setKeys(keys: CloudKeys, by: Actor): Promise<KeysSet>;
  /** Only for the cloud link: no route may return it. */
  readKeys(): Promise<CloudKeys>;
  /** Fingerprints; `null` if not set. */
  describe(): Promise<KeyFingerprints>;
  /** Picks up keys that another server has stored. */
  refresh(): Promise<void>;
}

interface KeyFingerprints {
  readonly apiKeyFingerprint: string | null;
  readonly sharedKeyFingerprint: string | null;
}

interface KeysSet extends KeyFingerprints {
  readonly changed: readonly CloudKeyName[];
}

interface CredentialsOptions {
  /** Called after keys were stored. */
  readonly onKeysChanged?: () => void;
}

export function createCredentials(store: Store, { onKeysChanged }: CredentialsOptions = {}): Credentials {
  const readKeys = () => store.read({ kind: 'find_cloud_keys' });
  const describe = async () => describeKeys(await readKeys());
  /** As text; `null` if not read yet. */
  let last: string | null = null;

  /** Returns whether they have changed. */
  function noteKeys(fingerprints: KeyFingerprints): boolean {
    const [before, now] = [last, JSON.stringify(fingerprints)];
    last = now;
    return before !== null && before !== now;
  }

  return {
    readKeys,
    describe,
    async refresh() {
      if (noteKeys(await describe())) onKeysChanged?.();
    },
    async setKeys({ apiKey, sharedKey }, by) {
      if (apiKey === null && sharedKey === null) {
        throw new RequestError('missing_parameters', 'Send "apiKey", "sharedKey", or both.');
      }
      const { apiKeyFingerprint, sharedKeyFingerprint } = describeKeys({ apiKey, sharedKey });
      const fingerprints = { apiKey: apiKeyFingerprint, sharedKey: sharedKeyFingerprint };
      await store.execute({ kind: 'set_cloud_keys', apiKey, sharedKey, fingerprints, by });
      onKeysChanged?.();
      const stored = await describe();
      noteKeys(stored);
      return {
        apiKeyFingerprint: apiKeyFingerprint ?? stored.apiKeyFingerprint,
        sharedKeyFingerprint: sharedKeyFingerprint ?? stored.sharedKeyFingerprint,
        changed: listGiven({ apiKey, sharedKey }),
      };
    },
  };
}

function listGiven({ apiKey, sharedKey }: CloudKeys): readonly CloudKeyName[] {
  const names: readonly CloudKeyName[] = ['api_key', 'shared_key'];
  return names.filter((name) => (name === 'api_key' ? apiKey : sharedKey) !== null);
}

function describeKeys({ apiKey, sharedKey }: CloudKeys): KeyFingerprints {
  return {
    apiKeyFingerprint: apiKey === null ? null : secretFingerprint('cloud_api_key', apiKey),
    sharedKeyFingerprint: sharedKey === null ? null : secretFingerprint('cloud_shared_key', sharedKey),
  };
}
