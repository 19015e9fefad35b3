import {
  featureRegisterAnswer,
  featureRegisterRequest,
  featureReleaseRequest,
} from '@berth/protocol/api/consumption';
import { empty, fieldsOf } from '@berth/web/reply';
import type { FeatureSlot } from '../../../core/nouns/feature-slot.ts';
import { earlier, type Instant } from '../../../core/nouns/instant.ts';
import type { Measured } from '../../../core/outcome.ts';
import type { Grants } from '../../../services/grants/grants.ts';
import type { Counting } from '../../../services/lending/counting.ts';
import type { ReplyDenial } from '../../reply/denial-reply.ts';
import type { GrantFacts } from '../../reply/present-grant.ts';
import { presentDate } from '../../reply/present-license.ts';
import { defineRoute, type Route } from '../../route.ts';
import { presentMeasuredFeature } from './consumption.ts';
import {
  LICENSE_REFUSALS,
  readPreferences,
  replyWithGrant,
  requestOf,
  returnOf,
  returnReply,
  untilOf,
  withPatience,
} from './lending.ts';

interface FeatureServices {
  readonly counting: Counting;
  readonly grants: Grants;
  readonly replyDenial: ReplyDenial;
}

export function featureRoutes(services: FeatureServices): readonly Route[] {
  const { counting } = services;
  return [featureRegisterRoute(services), featureReleaseRoute(counting), featureReleaseAllRoute(counting)];
}

function featureRegisterRoute({ counting, grants, replyDenial }: FeatureServices): Route {
  return defineRoute('POST /api/v4/featureRegister /api/v4/check_license_feature', {
    name: 'feature_register',
    access: 'client',
    isForProducts: true,
    summary: 'Lend a slot of a floating feature, or renew it; with borrowed_until, hold it until then',
    body: featureRegisterRequest,
    answer: { kind: 'json', schema: featureRegisterAnswer },
    errors: [
      ...LICENSE_REFUSALS,
      'license_borrow_not_allowed',
      'borrow_until_not_valid',
      'floating_not_available',
      'address_limit_reached',
      'invalid_license_feature_code',
      'license_feature_expired',
      'feature_not_floating',
      'device_not_found',
    ],
    headers: ['Prefer'],
    handle: async ({ request, body, caller }) => {
      const { patience } = readPreferences(request);
      const until = untilOf(body.borrowed_until);
      // Unlike `borrow`, a missing date means no borrowing.
      const wanted = until === 'longest' ? null : until;
      const asked = requestOf(body, caller);
      const outcome = await counting.registerFeature(asked, body.feature ?? null, wanted, patience);
      if (outcome.kind === 'refused') return withPatience(replyDenial(outcome, body), patience);
      if (outcome.kind !== 'measured') throw new Error(`Expected a slot, not "${outcome.kind}".`);
      const fields = { fields: fieldsOf(presentHeldFeature(outcome)), isAscii: false };
      const reply = replyWithGrant(grants, fields, () => featureFacts(outcome), body);
      return withPatience(await reply, patience);
    },
  });
}

function featureReleaseRoute(counting: Counting): Route {
  return defineRoute('POST /api/v4/featureRelease /api/v4/feature_release', {
    name: 'feature_release',
    access: 'client',
    isForProducts: true,
    summary: 'Return the slot of a feature; with instance, let a program leave it',
    body: featureReleaseRequest,
    answer: { kind: 'text', example: 'feature_released' },
    errors: [
      'missing_parameters',
      'unknown_product',
      'license_not_found',
      'invalid_license_feature_code',
      'floating_feature_device_not_in_use',
      'slot_of_another_client',
    ],
    handle: async ({ body, caller }) => {
      const outcome = await counting.releaseFeature(returnOf(body, caller), body.feature ?? null);
      return returnReply(outcome, 'feature_released');
    },
  });
}

function featureReleaseAllRoute(counting: Counting): Route {
  return defineRoute('GET POST /api/v4/featureRelease/all /api/v4/feature_release/all', {
    name: 'feature_release_all',
    access: 'admin',
    summary: 'Release all feature slots of all licenses',
    answer: { kind: 'empty' },
    handle: async ({ caller }) => {
      await counting.releaseAllFeatures(caller.actor);
      return empty();
    },
  });
}

function presentHeldFeature(measured: Measured): object {
  const borrowedUntil = measured.slot === null ? null : findBorrow(measured.slot, measured.now);
  return {
    ...presentMeasuredFeature(measured),
    is_borrowed: borrowedUntil !== null,
    borrowed_until: presentDate(borrowedUntil),
  };
}

/** Until when the slot is borrowed; `null` if it is not. */
function findBorrow({ borrowedUntil }: FeatureSlot, now: Instant): Instant | null {
  return borrowedUntil !== null && borrowedUntil > now ? borrowedUntil : null;
}

/** A slot of a feature ends with its user's slot of the license at the latest. */
function featureFacts({ feature, slot, holder, now }: Measured): GrantFacts {
  if (slot === null || holder === undefined) throw new Error('A grant needs the slot that was lent.');
  const validUntil = earlier(slot.endsAt, holder.endsAt);
  const isBorrowed = findBorrow(slot, now) !== null;
  return { license: holder.license, feature, user: slot.user, isBorrowed, validUntil, now };
}
