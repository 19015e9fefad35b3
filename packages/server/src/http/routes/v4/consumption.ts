import {
  addConsumptionRequest,
  addFeatureConsumptionRequest,
  type ConsumptionAnswer,
  consumptionAnswer,
  featureAnswer,
  IDEMPOTENCY_KEY,
} from '@berth/protocol/api/consumption';
import { RequestError } from '@berth/protocol/request-error';
import type { HeaderFields, RequestHead } from '@berth/web/http-request';
import { json, type Reply } from '@berth/web/reply';
import type { z } from 'zod';
import type { Measured } from '../../../core/outcome.ts';
import { type Counting, requireFeature } from '../../../services/lending/counting.ts';
import type { Executed } from '../../../services/lending/lending.ts';
import type { Caller } from '../../access/caller.ts';
import { limitFields, presentFeature } from '../../reply/present-license.ts';
import { refusalReply } from '../../reply/problem.ts';
import { defineRoute, type Route } from '../../route.ts';
import { LICENSE_REFUSALS, targetOf } from './lending.ts';

export function consumptionRoutes(counting: Counting): readonly Route[] {
  return [
    defineRoute('POST /api/v4/add_consumption', {
      name: 'add_consumption',
      access: 'client',
      isForProducts: true,
      summary: "Add to the license's total; with the header Idempotency-Key a repeat counts once",
      body: addConsumptionRequest,
      headers: ['Idempotency-Key'],
      answer: { kind: 'json', schema: consumptionAnswer },
      errors: [
        ...LICENSE_REFUSALS,
        'idempotency_key_reused',
        'license_not_consumption',
        'license_not_enough_consumptions',
      ],
      handle: async ({ request, body, caller }) =>
        measuredReply(
          await counting.add({ ...countOf(request, body, caller), feature: null }),
          presentConsumption,
        ),
    }),
    defineRoute('POST /api/v4/add_feature_consumption', {
      name: 'add_feature_consumption',
      access: 'client',
      isForProducts: true,
      summary: "Add to a feature's total; with the header Idempotency-Key a repeat counts once",
      body: addFeatureConsumptionRequest,
      headers: ['Idempotency-Key'],
      answer: { kind: 'json', schema: featureAnswer },
      errors: [
        ...LICENSE_REFUSALS,
        'idempotency_key_reused',
        'invalid_license_feature_code',
        'license_feature_expired',
        'feature_not_consumption',
        'feature_not_enough_consumptions',
      ],
      handle: async ({ request, body, caller }) => {
        const feature = requireFeature(body.feature ?? null);
        return measuredReply(
          await counting.add({ ...countOf(request, body, caller), feature }),
          presentMeasuredFeature,
        );
      },
    }),
  ];
}

function countOf({ headers }: RequestHead, body: z.output<typeof addConsumptionRequest>, caller: Caller) {
  return {
    by: caller.actor,
    ...targetOf(body),
    user: body.user ?? null,
    count: body.consumptions,
    narrowing: { allowOverages: body.allow_overages ?? null, maxOverages: body.max_overages ?? null },
    idempotencyKey: readIdempotencyKey(headers),
  };
}

function readIdempotencyKey(headers: HeaderFields): string | null {
  const key = headers.get('idempotency-key');
  if (key === null || IDEMPOTENCY_KEY.test(key)) return key;
  throw new RequestError(
    'validation_error',
    'The Idempotency-Key must be 1 to 256 printable ASCII characters without blanks.',
    { field: 'Idempotency-Key' },
  );
}

/** Responses about consumption: a refusal, or the result in the format of the route. */
function measuredReply(outcome: Executed, present: (measured: Measured) => object): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  if (outcome.kind === 'measured') return json(present(outcome));
  throw new Error(`Expected a count, not "${outcome.kind}".`);
}

function presentConsumption({ licenseId, limits, total }: Measured): ConsumptionAnswer {
  return { id: licenseId, total_consumptions: total, ...limitFields(limits) };
}

export function presentMeasuredFeature({ licenseId, feature, total, inUse }: Measured) {
  if (feature === null) throw new Error('Expected a count of the feature, not of the license.');
  return presentFeature(licenseId, feature, { total, inUse });
}
