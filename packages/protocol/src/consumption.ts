import { z } from 'zod';
import { hostText, integerOf, licenseId, name, userInfo, userName } from './fields.ts';
import { anyDate } from './lending.ts';
import { featureObject, licenseObject } from './license-object.ts';

const COUNT_ERROR = { error: 'must be a whole number below 2^53, as a number or as digits' };

/**
 * A count: a whole number, or digits. Missing and `null` mean 1; anything else is refused, blank text too.
 */
export const count = z.preprocess(
  (value) => (value === null || value === undefined ? 1 : integerOf(value)),
  z.int(COUNT_ERROR),
);

/** `true` and `false`, also as text in any case. Blank means "not given". */
const flag = z.preprocess(
  (value) => (typeof value === 'string' ? readFlag(value.trim().toLowerCase()) : value),
  z.boolean({ error: 'must be true or false' }).nullish(),
);

function readFlag(text: string): boolean | string | null {
  if (text === '') return null;
  return text === 'true' || (text === 'false' ? false : text);
}

/** How much overage the caller wants at most. Blank means "not given". */
const overage = z.preprocess(
  (value) => (typeof value === 'string' && value.trim() === '' ? null : integerOf(value)),
  z.int(COUNT_ERROR).min(0, { error: 'must not be negative' }).nullish(),
);

const target = { product: name, user: userName, license_id: licenseId };

export const addConsumptionRequest = z.object({
  ...target,
  consumptions: count,
  max_overages: overage,
  allow_overages: flag,
});

export const addFeatureConsumptionRequest = z.object({
  ...target,
  feature: name,
  consumptions: count,
  max_overages: overage,
  allow_overages: flag,
});

export const featureRegisterRequest = z.object({
  ...target,
  feature: name,
  os_hostname: hostText,
  ip_local: hostText,
  user_info: userInfo,
  borrowed_until: anyDate,
});

export const featureReleaseRequest = z.object({ ...target, feature: name, os_hostname: hostText });

/** The answer to a count: the license's limits, and the total that already includes it. */
export const consumptionAnswer = licenseObject.pick({
  id: true,
  max_consumptions: true,
  total_consumptions: true,
  allow_overages: true,
  max_overages: true,
  reset_consumption: true,
  consumption_period: true,
  allow_unlimited_consumptions: true,
  allow_negative_consumptions: true,
});

export const featureAnswer = featureObject;

/** A feature slot says too until when it is borrowed. */
export const featureRegisterAnswer = featureObject.extend({
  is_borrowed: z.boolean(),
  borrowed_until: licenseObject.shape.borrowed_until,
});

/** Keys of requests that may be repeated: as long as a name, and printable. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,256}$/;

export type ConsumptionAnswer = z.output<typeof consumptionAnswer>;
