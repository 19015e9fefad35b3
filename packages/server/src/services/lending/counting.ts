import { createHash } from 'node:crypto';
import { RequestError } from '@berth/protocol/request-error';
import type { AddConsumption, BorrowUntil, Target } from '../../core/command.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { userNameOf } from '../../core/nouns/user-name.ts';
import type { Executed, Store } from '../../store/store.ts';
import { executeOnEachLicense } from './each-license.ts';
import { identify, identifyTaker, type LendingRequest, requireFit } from './lending.ts';
import type { TakeSlot } from './new-slots.ts';
import type { Patience } from './waiting-room.ts';

interface CountRequest extends Target, Pick<AddConsumption, 'feature' | 'user' | 'count' | 'narrowing'> {
  /** The caller's id of the request, so that a repeated request counts once. */
  readonly idempotencyKey: string | null;
  readonly by?: Actor;
}

/** Counts consumption, and lends the slots of features. An unfit request throws at once. */
export interface Counting {
  add(request: CountRequest): Promise<Executed>;
  registerFeature(
    request: LendingRequest,
    feature: string | null,
    until: BorrowUntil | null,
    patience?: Patience,
  ): Promise<Executed>;
  releaseFeature(request: LendingRequest, feature: string | null): Promise<Executed>;
  /** Releases all feature slots of all licenses. Returns how many. */
  releaseAllFeatures(by: Actor): Promise<number>;
}

export function createCounting(store: Store, takeSlot: TakeSlot): Counting {
  return {
    add: ({ idempotencyKey, ...request }) =>
      store.execute({
        kind: 'add_consumption',
        ...request,
        user: identifyConsumer(request.user),
        // The hash covers the request as it was sent.
        idempotency: identifyRequest(idempotencyKey, request),
      }),
    registerFeature: (request, feature, until, patience) => {
      const taker = { ...identifyTaker(request), host: request.host };
      const wanted = { feature: requireFeature(feature), until };
      return takeSlot({ kind: 'register_feature', ...taker, ...wanted }, patience);
    },
    releaseFeature: (request, feature) =>
      store.execute({ kind: 'release_feature', ...identify(request), feature: requireFeature(feature) }),
    releaseAllFeatures: (by) =>
      executeOnEachLicense(store, (licenseId) => ({ kind: 'release_all_features', licenseId, by })),
  };
}

/** The user is optional here. */
function identifyConsumer(user: string | null): string | null {
  if (user === null) return null;
  const name = userNameOf(user);
  requireFit(name, 'user');
  return name;
}

export function requireFeature(feature: string | null): string {
  if (feature === null) throw new RequestError('missing_parameters', '"feature" is missing.');
  return feature;
}

type Body = Omit<CountRequest, 'by' | 'idempotencyKey'>;

/** Servers of other versions read the hash: whoever changes its fields or their order changes this, too. */
const BODY_VERSION = 1;

/** The same fields are the same request, whatever its JSON looks like and wherever it came from. */
function identifyRequest(key: string | null, { narrowing, ...body }: Body) {
  if (key === null) return null;
  const fields: Record<keyof Body, unknown> = {
    product: body.product,
    licenseId: body.licenseId,
    feature: body.feature,
    user: body.user,
    count: body.count,
    narrowing: [narrowing.allowOverages, narrowing.maxOverages],
  };
  const hash = createHash('sha256')
    .update(JSON.stringify(Object.values(fields)))
    .digest('base64');
  return { key, bodyHash: `${BODY_VERSION}:${hash}` };
}
