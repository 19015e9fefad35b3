import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { GRANT_TYPE } from '@berth/protocol/grant/grant-claims';
import { base64url, type OkpJwk, okpJwkOf, thumbprintOf } from '@berth/protocol/grant/jws';
import { RequestError } from '@berth/protocol/request-error';
import type { Actor } from '../../core/nouns/actor.ts';
import { type GrantKey, isInKeySet } from '../../core/nouns/grant-key.ts';
import { SECOND_MS } from '../../core/nouns/instant.ts';
import type { Store } from '../../store/store.ts';

/** The keys that sign grants: sealed in the store, and the same on all servers of one database. */
export interface GrantKeys {
  /** The key set, the newest first. Makes the first key if there is none. */
  list(): Promise<KeySet>;
  /** Makes a new key. The one before it stays in the key set until its grants have ended. */
  rotate(by: Actor): Promise<void>;
}

type KeySet = readonly [SigningKey, ...SigningKey[]];

export interface SigningKey extends Omit<GrantKey, 'privateKey'> {
  readonly privateKey: KeyObject;
  readonly jwk: OkpJwk;
  /** The header of its grants in base64url, which is always the same. */
  readonly header: string;
}

/** How long other servers of the database may take to notice a new key. */
const FRESH_MS = 10 * SECOND_MS;

export function createGrantKeys(store: Store, readMonotonicMs: () => number): GrantKeys {
  let last: { readonly keys: Promise<KeySet>; readonly readMs: number } | null = null;
  return {
    list() {
      const readMs = readMonotonicMs();
      if (last !== null && readMs - last.readMs < FRESH_MS) return last.keys;
      // While the store cannot be read, the last known keys stay in use.
      const known = last?.keys;
      const keys = loadKeys(store).catch((error: unknown) => known ?? Promise.reject(error));
      const loaded = { keys, readMs };
      last = loaded;
      keys.catch(() => {
        if (last === loaded) last = null;
      });
      return keys;
    },
    async rotate(by) {
      // There is always one to replace, so that a rotation is never mistaken for the first key.
      await loadKeys(store);
      await make(store, { by });
      last = null;
    },
  };
}

async function loadKeys(store: Store): Promise<KeySet> {
  const { now } = await store.keepClock();
  const known = await store.read({ kind: 'find_grant_keys' });
  if (known.length === 0) await make(store, { isFirst: true, by: 'server' });
  const keys = known.length > 0 ? known : await store.read({ kind: 'find_grant_keys' });
  const [newest, ...others] = keys.filter((key) => isInKeySet(key, now)).map(toSigningKey);
  if (newest === undefined) throw new Error('There is no key to sign grants with.');
  return [newest, ...others];
}

async function make(store: Store, how: { readonly isFirst?: true; readonly by: Actor }): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const kid = thumbprintOf(okpJwkOf(privateKey));
  const text = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  const outcome = await store.execute({ kind: 'rotate_grant_key', kid, privateKey: text, ...how });
  if (outcome.kind === 'refused') throw new RequestError(outcome.code, outcome.message);
}

function toSigningKey({ privateKey: text, ...key }: GrantKey): SigningKey {
  const privateKey = createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' });
  const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: GRANT_TYPE, kid: key.kid }));
  return { ...key, privateKey, jwk: okpJwkOf(privateKey), header };
}
