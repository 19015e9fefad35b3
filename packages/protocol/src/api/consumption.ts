import { z } from 'zod';
import { deviceMark, FieldError, feature, field, instance, integerOf, isBlank, nonce } from '../fields.ts';
import { anyDate, host, leaver, proof, target } from './lending.ts';
import { featureObject, licenseObject } from './license-object.ts';

const NOT_WHOLE = new FieldError('must be a whole number below 2^53, as a number or as digits');

function readWhole(value: unknown): number | FieldError {
  const number = integerOf(value);
  return Number.isSafeInteger(number) ? (number as number) : NOT_WHOLE;
}

/**
 * A count: a whole number, or digits. Missing and `null` mean 1; anything else is refused, blank text too.
 */
export const count = field((value) => (value === null || value === undefined ? 1 : readWhole(value))).meta({
  type: ['integer', 'string'],
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  pattern: '^-?\\d{1,16}$',
  description:
    'How much to add, as a number or as digits; 1 by default, 0 only reads. A negative count takes back.',
});

/** `true` and `false`, also as text in any case. Blank means "not given". */
const flag = field((value) => {
  const meant = typeof value === 'string' ? readFlag(value.trim().toLowerCase()) : (value ?? null);
  return meant === null || typeof meant === 'boolean' ? meant : new FieldError('must be true or false');
}).meta({
  type: ['boolean', 'string'],
  pattern: '^\\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\\s*$',
  description: 'false: no overage in this call, as a boolean or as text.',
});

function readFlag(text: string): boolean | string | null {
  if (text === '') return null;
  return text === 'true' || (text === 'false' ? false : text);
}

/** How much overage the caller wants at most. Blank means "not given". */
const overage = field((value) => {
  if (value === undefined || isBlank(value)) return null;
  const number = readWhole(value);
  return typeof number === 'number' && number < 0 ? new FieldError('must not be negative') : number;
}).meta({
  type: ['integer', 'string'],
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  pattern: '^\\d{1,16}$',
  description:
    'The most overage for this call, as a number or as digits; it cannot widen what the license allows.',
});

const counted = { consumptions: count, max_overages: overage, allow_overages: flag };

export const addConsumptionRequest = z.object({ ...target, ...counted }).meta({
  examples: [{ product: 'demo', consumptions: '5', max_overages: '0', allow_overages: 'false' }],
});

export const addFeatureConsumptionRequest = z.object({ ...target, feature, ...counted }).meta({
  extends: 'AddConsumptionRequest',
  required: ['feature'],
  examples: [{ product: 'demo', feature: 'export', consumptions: '1' }],
});

export const featureRegisterRequest = z
  .object({
    ...target,
    feature,
    ...host,
    borrowed_until: anyDate.meta({
      description: 'Hold the slot until then, as in `borrow`. Not given, or year 1: no borrow.',
    }),
    instance,
    nonce,
    device_mark: deviceMark,
  })
  .meta({
    extends: 'RegisterRequest',
    required: ['feature'],
    description: 'Send `user` or `os_hostname`.',
    examples: [{ product: 'demo', feature: 'render', user: 'ada@example.com' }],
  });

export const featureReleaseRequest = z
  .object({ ...target, feature, os_hostname: host.os_hostname, instance: leaver })
  .meta({
    extends: 'UnregisterRequest',
    required: ['feature'],
    description: 'Send `user` or `os_hostname`.',
    examples: [{ product: 'demo', feature: 'render', user: 'ada@example.com' }],
  });

/** The answer to a count: the license's limits, and the total that already includes it. */
export const consumptionAnswer = licenseObject
  .pick({
    id: true,
    max_consumptions: true,
    total_consumptions: true,
    allow_overages: true,
    max_overages: true,
    reset_consumption: true,
    consumption_period: true,
    allow_unlimited_consumptions: true,
    allow_negative_consumptions: true,
  })
  .meta({
    id: 'Consumption',
    description: 'What limits the consumption of a license, and its total.',
    examples: [
      {
        id: 7,
        max_consumptions: 1000,
        total_consumptions: 5,
        allow_overages: false,
        max_overages: 0,
        reset_consumption: true,
        consumption_period: 'monthly',
        allow_unlimited_consumptions: false,
        allow_negative_consumptions: false,
      },
    ],
  });

export const featureAnswer = featureObject;

/** A feature slot says too until when it is borrowed. */
export const featureRegisterAnswer = featureObject
  .extend({
    is_borrowed: licenseObject.shape.is_borrowed,
    borrowed_until: licenseObject.shape.borrowed_until,
    ...proof,
  })
  .meta({
    id: 'FeatureRegistration',
    extends: 'Feature',
    description: 'The feature, as seen by a user who has a slot of it.',
  });

/** Keys of requests that may be repeated: as long as a name, printable ASCII without blanks. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,256}$/;

export type ConsumptionAnswer = z.output<typeof consumptionAnswer>;
