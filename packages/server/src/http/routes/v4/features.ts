import {
  featureRegisterAnswer,
  featureRegisterRequest,
  featureReleaseRequest,
} from '@berth/protocol/api/consumption';
import type { Measured } from '../../../core/outcome.ts';
import type { Counting } from '../../../services/lending/counting.ts';
import { actorOf } from '../../access/caller.ts';
import { presentDate } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { empty, text } from '../../reply/reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { measuredReply, presentMeasuredFeature } from './consumption.ts';
import { LICENSE_REFUSALS, requestOf, returnOf, untilOf } from './lending.ts';

export function featureRoutes(counting: Counting): readonly Route[] {
  return [featureRegisterRoute(counting), featureReleaseRoute(counting), featureReleaseAllRoute(counting)];
}

function featureRegisterRoute(counting: Counting): Route {
  return defineRoute({
    name: 'feature_register',
    methods: ['POST'],
    paths: ['/api/v4/featureRegister', '/api/v4/check_license_feature'],
    access: 'client',
    summary: 'Lend a slot of a floating feature, or renew it; with borrowed_until, hold it until then',
    body: featureRegisterRequest,
    answer: { kind: 'json', schema: featureRegisterAnswer },
    errors: [
      ...LICENSE_REFUSALS,
      'license_borrow_not_allowed',
      'borrow_until_not_valid',
      'floating_not_available',
      'invalid_license_feature_code',
      'license_feature_expired',
      'feature_not_floating',
      'device_not_found',
    ],
    handle: async ({ body, caller }) => {
      const until = untilOf(body.borrowed_until);
      // Unlike `borrow`, a missing date means no borrowing.
      const wanted = until === 'longest' ? null : until;
      const outcome = await counting.registerFeature(requestOf(body, caller), body.feature ?? null, wanted);
      return measuredReply(outcome, presentHeldFeature);
    },
  });
}

function featureReleaseRoute(counting: Counting): Route {
  return defineRoute({
    name: 'feature_release',
    methods: ['POST'],
    paths: ['/api/v4/featureRelease', '/api/v4/feature_release'],
    access: 'client',
    summary: 'Return the slot of a feature',
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
      return outcome.kind === 'refused' ? refusalReply(outcome) : text('feature_released');
    },
  });
}

function featureReleaseAllRoute(counting: Counting): Route {
  return defineRoute({
    name: 'feature_release_all',
    methods: ['GET', 'POST'],
    paths: ['/api/v4/featureRelease/all', '/api/v4/feature_release/all'],
    access: 'admin',
    summary: 'Release all feature slots of all licenses',
    answer: { kind: 'empty' },
    errors: [],
    handle: async ({ caller }) => {
      await counting.releaseAllFeatures(actorOf(caller));
      return empty();
    },
  });
}

function presentHeldFeature(measured: Measured): object {
  const { slot, now } = measured;
  const borrowedUntil =
    slot !== null && slot.borrowedUntil !== null && slot.borrowedUntil > now ? slot.borrowedUntil : null;
  return {
    ...presentMeasuredFeature(measured),
    is_borrowed: borrowedUntil !== null,
    borrowed_until: presentDate(borrowedUntil),
  };
}
