import { CloudFault } from '../cloud/cloud.ts';
import type { Actor } from '../core/actor.ts';
import { heldKey } from '../core/decide-notice.ts';
import type { Store } from '../store/store.ts';

/**
 * A cloud that has once bound an answer to its request is held to it: whoever takes the nonce out of a
 * request gets an answer that is not believed. An older cloud never starts, and keeps its weaker guarantee.
 */
export interface CloudHold {
  /** Notes that the cloud binds its answers; throws a `CloudFault` where it did before and does not now. */
  admit(isBound: boolean): Promise<void>;
  /** Takes answers again that are not bound, until the next one is. */
  release(by: Actor): Promise<void>;
}

/** `fingerprint`: of the key that the cloud signs with. */
export function createCloudHold(store: Store, fingerprint: string): CloudHold {
  return {
    async admit(isBound) {
      const isHeld = (await store.read({ kind: 'find_notice', key: heldKey(fingerprint) })) !== null;
      if (isHeld === isBound) return;
      if (isHeld) throw notBound();
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

function notBound(): CloudFault {
  return new CloudFault(
    'not_bound',
    'The licensing cloud did not repeat the nonce of the request, as it has done before. Somebody may be ' +
      'playing back old answers. If the vendor has gone back to an older cloud, run "berth license sync ' +
      '--accept-unbound".',
    { mayHaveArrived: true },
  );
}
