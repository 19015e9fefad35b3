import { z } from 'zod';

const date = z.iso.datetime({ precision: 3 }).nullable().meta({ description: 'UTC, or null' });
const count = z.int();
const hours = z.number();
const facts = z.record(z.string(), z.unknown());

export const LICENSE_TYPES = ['perpetual', 'time-limited', 'consumption', 'subscription'] as const;
export const CONSUMPTION_PERIODS = ['daily', 'weekly', 'monthly', 'annually'] as const;
export const FEATURE_TYPES = ['activation', 'consumption'] as const;

const consumption = {
  max_consumptions: count,
  total_consumptions: count,
  allow_overages: z.boolean(),
  max_overages: count,
  allow_unlimited_consumptions: z.boolean(),
  allow_negative_consumptions: z.boolean(),
  reset_consumption: z.boolean(),
  consumption_period: z.enum(CONSUMPTION_PERIODS).nullable(),
};

export const featureObject = z.object({
  id: count,
  license_id: count,
  code: z.string(),
  name: z.string(),
  feature_type: z.enum(FEATURE_TYPES),
  max_consumption: count.meta({ description: 'the same as max_consumptions; clients read either' }),
  ...consumption,
  is_floating: z.boolean(),
  is_floating_cloud: z.literal(false),
  floating_timeout: count.optional().meta({ description: 'minutes' }),
  floating_users: count.optional(),
  floating_in_use_devices: count.optional(),
  expiry_date: date,
  metadata: facts,
});

/**
 * The license as clients read it. There is no hardware id of the server in it: clients compare that field
 * with their own, and would refuse the license.
 */
export const licenseObject = z.object({
  id: count.meta({ description: "the license's id; clients send it back as license_id" }),
  license_id: count,
  product: z.string().meta({ description: 'the product code' }),
  license_key: z.string(),
  license_type: z.enum(LICENSE_TYPES),
  license_active: z.boolean(),
  license_enabled: z.boolean(),
  is_expired: z.boolean(),
  is_trial: z.boolean(),
  is_floating: z.literal(true),
  is_floating_cloud: z.literal(false),
  floating_timeout: count.min(1).meta({ description: 'minutes without a heartbeat until a slot is free' }),
  floating_users: count.meta({ description: 'how many slots there are' }),
  floating_slots_in_use: count,
  floating_in_use: count,
  floating_in_use_devices: count,
  is_borrowed: z.boolean(),
  borrowed_until: date,
  can_borrow: z.boolean(),
  max_borrow_time: hours.meta({ description: 'hours' }),
  start_date: date,
  validity_period: date,
  maintenance_period: date,
  allow_grace_period: z.boolean(),
  grace_period: hours.meta({ description: 'hours' }),
  prevent_vm: z.literal(false),
  max_activations: count,
  times_activated: count,
  max_transfers: count,
  transfer_count: count,
  allow_unlimited_activations: z.boolean(),
  ...consumption,
  product_features: z.array(featureObject),
  custom_fields: z.array(facts),
  metadata: facts,
  customer: facts,
  product_details: z.object({
    product_id: count,
    product_name: z.string(),
    short_code: z.string(),
    authorization_method: z.string(),
    metadata: facts,
  }),
});

export type LicenseObject = z.output<typeof licenseObject>;
export type FeatureObject = z.output<typeof featureObject>;
