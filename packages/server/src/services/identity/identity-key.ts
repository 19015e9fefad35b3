import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import type { Store } from '../../store/store.ts';

/** The key that signs what this server exports. */
export interface IdentityKey {
  readonly privateKey: KeyObject;
  /** SPKI in base64. */
  readonly publicKey: string;
  readonly fingerprint: string;
}

export async function readIdentityKey(store: Store): Promise<IdentityKey> {
  const der = await store.read({ kind: 'find_identity_key' });
  const privateKey = createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64');
  return { privateKey, publicKey, fingerprint: publicKeyFingerprint(publicKey) };
}
