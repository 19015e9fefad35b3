import { z } from 'zod';
import { CONSUMPTION_PERIODS, FEATURE_TYPES, LICENSE_TYPES } from '../api/license-object.ts';
import { quote } from '../quote.ts';
import { parseTimestamp } from '../timestamp.ts';

/**
 * A license from a licensing cloud, parsed leniently: missing and `null` fields get a value that grants
 * nothing. Fields with a wrong shape are refused, because a license must not be guessed.
 */
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);
const flagOn = z
  .boolean()
  .nullish()
  .transform((value) => value ?? true);
const count = z
  .int()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? 0);
const amount = z
  .int()
  .nullish()
  .transform((value) => value ?? 0);
const hours = z
  .number()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? 0);
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const facts = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((value) => value ?? {});

/** Milliseconds since 1970, or `null`. */
const date = z
  .string()
  .nullish()
  .transform((value, context) => {
    const at = value === null || value === undefined ? null : parseTimestamp(value);
    if (at !== undefined) return at;
    context.addIssue({ code: 'custom', message: 'is no date' });
    return z.NEVER;
  });

/**
 * Names of terms that a server must not ignore. There are none yet, so a license that names one is for newer
 * servers only.
 */
const requires = z
  .array(z.string())
  .nullish()
  .superRefine((words, context) => {
    const [word] = words ?? [];
    if (word === undefined) return;
    const advice = 'Update the server, then add the license again';
    context.addIssue({ code: 'custom', message: `has ${quote(word)}, which needs a newer Berth. ${advice}` });
  });

const consumption = {
  max_overages: count,
  total_consumptions: amount,
  allow_overages: flag,
  allow_unlimited_consumptions: flag,
  allow_negative_consumptions: flag,
  reset_consumption: flag,
  consumption_period: z.enum(CONSUMPTION_PERIODS).nullish(),
};

const cloudFeature = z.object({
  id: z.int().positive(),
  code: z.string().min(1).max(256),
  name: text,
  feature_type: z.enum(FEATURE_TYPES),
  max_consumption: z.int().nonnegative().nullish(),
  max_consumptions: z.int().nonnegative().nullish(),
  ...consumption,
  is_floating: flag,
  floating_timeout: z.int().positive().nullish(),
  floating_users: z.int().nonnegative().nullish(),
  can_borrow: z.boolean().nullish(),
  max_borrow_time: z.number().nonnegative().nullish(),
  expiry_date: date,
  metadata: facts,
});

export const cloudLicense = z.object({
  // The first, because its fault is reported: the other fields of such a license may have changed, too.
  requires,
  id: z.int().positive(),
  license_key: text,
  license_type: z.enum(LICENSE_TYPES),
  license_active: flagOn,
  license_enabled: flagOn,
  is_trial: flag,
  is_floating: flag,
  floating_timeout: z.int().positive().nullish(),
  floating_users: count,
  can_borrow: flag,
  max_borrow_time: hours,
  start_date: date,
  validity_period: date,
  maintenance_period: date,
  allow_grace_period: flag,
  grace_period: hours,
  max_activations: count,
  times_activated: count,
  max_transfers: amount,
  transfer_count: count,
  allow_unlimited_activations: flag,
  max_consumptions: count,
  ...consumption,
  product_features: z
    .array(cloudFeature)
    .nullish()
    .transform((value) => value ?? []),
  custom_fields: z
    .array(z.record(z.string(), z.unknown()))
    .nullish()
    .transform((value) => value ?? []),
  metadata: facts,
  customer: facts,
  hardware_id: z.string().nullish(),
  product_details: z.object({
    product_id: z.int(),
    product_name: text,
    short_code: z.string().min(1).max(256),
    authorization_method: text,
    metadata: facts,
  }),
});

export type CloudLicense = z.output<typeof cloudLicense>;
export type CloudFeature = CloudLicense['product_features'][number];

/** The answer to a report: the total with it, and the report's id where the cloud knows such ids. */
export const reportAnswer = z.object({
  total_consumptions: z.int(),
  report_id: z.string().nullish(),
  /** A genuine license is the answer to a different request. */
  product_details: z.undefined().optional(),
});

/** An error as every server of this API sends it. */
export const cloudError = z.object({
  code: z.string(),
  message: text,
});
