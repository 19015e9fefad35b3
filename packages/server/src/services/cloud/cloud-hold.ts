import { CloudFault, type CloudReply } from '../../cloud/cloud.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { isVerdict } from '../../core/nouns/license.ts';
import { heldKey } from '../../core/nouns/notice-key.ts';
import type { Store } from '../../store/store.ts';

/**
 * A cloud that has once bound an answer to its request is held to it: whoever takes the nonce out of a
 * request gets an answer that is not believed. An older cloud never starts, and keeps its weaker guarantee.
 */
export interface CloudHold {
  /** Notes that the cloud binds its answers; throws a `CloudFault` where it did before and does not now. */
  admit(reply: CloudReply<unknown>): Promise<void>;
  /** Takes answers again that are not bound, until the next one is. */
  release(by: Actor): Promise<void>;
}

/** `fingerprint`: of the key that the cloud signs with. */
export function createCloudHold(store: Store, fingerprint: string): CloudHold {
  return {
    async admit(reply) {
      const { isBound } = reply;
      const isHeld = (await store.read({ kind: 'find_notice', key: heldKey(fingerprint) })) !== null;
      if (isHeld === isBound) return;
      if (isHeld) throw notBound(reply);
      await store.execute({ kind: 'note', notice: { kind: 'cloud_held_to_nonces', fingerprint } });
    },
    async release(by) {
      await store.execute({
        kind: 'note',
        notice: { kind: 'cloud_released_from_nonces', fingerprint, by },
      });
    },
  };
}

/** What comes from the HTTP layer of a cloud, or a proxy before it, has not seen the nonce. */
function notBound(reply: CloudReply<unknown>): CloudFault {
  const isBareError = reply.kind === 'refused' && !isVerdict(reply.code);
  const message = isBareError
    ? `The licensing cloud answered with the error ${reply.code}, which is not bound to the request. ` +
      'Nothing was changed; it is tried again.'
    : OLD_ANSWER;
  return new CloudFault('not_bound', message, { mayHaveArrived: true });
}

const OLD_ANSWER =
  'The licensing cloud did not repeat the nonce of the request, as it has done before. Somebody may be ' +
  'playing back old answers. If the vendor has gone back to an older cloud, run "berth license sync ' +
  '--accept-unbound".';
