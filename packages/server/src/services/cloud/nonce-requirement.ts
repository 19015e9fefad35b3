import { CloudFault, type CloudReply, notSigned } from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { isVerdict } from '../../core/nouns/license.ts';
import { heldKey } from '../../core/nouns/notice-key.ts';
import type { Store } from '../../store/store.ts';

/**
 * Once a cloud has bound an answer to its request, unbound answers are rejected: an attacker who removes the
 * nonce from a request gains nothing. Older clouds never bind answers and keep their weaker guarantee.
 */
export interface NonceRequirement {
  /** Records that the cloud binds its answers; throws a `CloudFault` if it no longer does. */
  admit(reply: CloudReply<unknown>): Promise<void>;
  /** Accepts unbound answers again, until the next bound one. */
  release(by: Actor): Promise<void>;
}

/**
 * `fingerprints`: of the keys that the cloud may sign with. Whichever it uses, it is the same cloud: one that
 * binds its answers under the old key must also do so under the new one.
 */
export function createNonceRequirement(store: Store, fingerprints: readonly string[]): NonceRequirement {
  const isHeldBy = async (fingerprint: string) =>
    (await store.read({ kind: 'find_notice', key: heldKey(fingerprint) })) !== null;
  return {
    async admit(reply) {
      const held = await Promise.all(fingerprints.map(isHeldBy));
      if (!reply.isBound && held.includes(true)) throw notBound(reply);
      if (!reply.isBound) return;
      for (const fingerprint of fingerprints.filter((_, at) => held[at] === false)) {
        await store.execute({ kind: 'note', notice: { kind: 'cloud_held_to_nonces', fingerprint } });
      }
    },
    async release(by) {
      for (const fingerprint of fingerprints) {
        const notice = { kind: 'cloud_released_from_nonces', fingerprint, by } as const;
        await store.execute({ kind: 'note', notice });
      }
    },
  };
}

/**
 * Errors from the HTTP layer of a cloud, or from a proxy, do not know the nonce. Without a signature nobody
 * knows whether the vendor repeats it: the key may be outdated.
 */
function notBound(reply: CloudReply<unknown>): CloudFault {
  const isBareError = reply.kind === 'refused' && !isVerdict(reply.code);
  if (reply.isSigned === false) return notSigned(isBareError ? ` (error ${reply.code})` : '');
  const message = isBareError
    ? `The licensing cloud answered with error ${reply.code}, which is not bound to the request. ` +
      'Nothing was changed. The server will try again.'
    : OLD_ANSWER;
  return new CloudFault('not_bound', message, { mayHaveArrived: true });
}

const OLD_ANSWER =
  'The licensing cloud no longer repeats the nonce of the request. Someone may be replaying old answers. ' +
  'If the vendor has returned to an older version of the cloud, run "berth license sync ' +
  '--accept-unbound".';
