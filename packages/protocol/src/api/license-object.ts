import { z } from 'zod';
import { described } from '../fields.ts';

const count = z.int();
const hours = z.number();
const flag = z.boolean();
const facts = z.record(z.string(), z.unknown());
const date = z.iso.datetime({ precision: 3 }).nullable();

export const LICENSE_TYPES = ['perpetual', 'time-limited', 'consumption', 'subscription'] as const;
export const CONSUMPTION_PERIODS = ['daily', 'weekly', 'monthly', 'annually'] as const;
export const FEATURE_TYPES = ['activation', 'consumption'] as const;

const licenseType = z.enum(LICENSE_TYPES).meta({ id: 'LicenseType' });
const featureType = z.enum(FEATURE_TYPES).meta({ id: 'FeatureType' });
const period = z.enum(CONSUMPTION_PERIODS).meta({ id: 'ConsumptionPeriod' });

const consumption = {
  max_consumptions: described(count, 'How much may be consumed, without overage.'),
  total_consumptions: described(count, 'How much was consumed in this period.'),
  allow_overages: described(flag, 'Whether more than the maximum may be consumed.'),
  max_overages: described(count, 'How much more.'),
  allow_unlimited_consumptions: described(flag, 'Whether there is no maximum.'),
  allow_negative_consumptions: described(flag, 'Whether a negative count may take back.'),
  reset_consumption: described(flag, 'Whether the total starts from 0 in every period.'),
  consumption_period: described(period.nullable(), 'The length of a period; null: there is only one.'),
};

export const featureObject = z
  .object({
    id: described(count, 'The id of the feature.'),
    license_id: described(count, 'The id of its license.'),
    code: described(z.string(), 'The feature code.'),
    name: described(z.string(), 'Its name.'),
    feature_type: described(featureType, 'Whether it is counted.'),
    max_consumption: described(count, 'The same as max_consumptions; clients read either.'),
    ...consumption,
    is_floating: described(flag, 'Whether it has slots of its own.'),
    is_floating_cloud: described(z.literal(false), 'Always false.'),
    floating_timeout: described(
      count.optional(),
      'Minutes without a heartbeat until a slot is free; only if floating.',
    ),
    floating_users: described(count.optional(), 'How many slots there are; only if floating.'),
    floating_in_use_devices: described(count.optional(), 'How many of them are in use; only if floating.'),
    expiry_date: described(date, 'When the feature ends; null: with the license.'),
    metadata: described(facts, 'What the vendor adds.'),
  })
  .meta({ id: 'Feature', description: 'A feature of a license, and what was counted of it.' });

const productDetails = z
  .object({
    product_id: described(count, "The vendor's id of the product."),
    product_name: described(z.string(), 'Its name.'),
    short_code: described(z.string(), 'The product code.'),
    authorization_method: described(z.string(), 'How the license was activated: by a key or by a user.'),
    metadata: described(facts, 'What the vendor adds.'),
  })
  .meta({ id: 'ProductDetails', description: 'The product of a license.' });

/**
 * The license as clients read it, without the server's hardware id: clients compare that field with their own
 * and would refuse the license.
 */
export const licenseObject = z
  .object({
    id: described(count, 'The id of the license; clients send it back as license_id.'),
    license_id: described(count, 'The same.'),
    product: described(z.string(), 'The product code.'),
    license_key: described(z.string(), 'The license key.'),
    license_type: described(licenseType, 'What kind of license it is.'),
    license_active: described(flag, 'Whether it is active.'),
    license_enabled: described(flag, 'Whether the vendor has not disabled it.'),
    is_expired: described(flag, 'Whether it has ended, including its grace period.'),
    is_trial: described(flag, 'Whether it is a trial.'),
    is_floating: described(z.literal(true), 'Always true.'),
    is_floating_cloud: described(z.literal(false), 'Always false.'),
    floating_timeout: described(count.min(1), 'Minutes without a heartbeat until a slot is free.'),
    floating_users: described(count, 'How many slots there are.'),
    floating_slots_in_use: described(count, 'How many of them are in use.'),
    floating_in_use: described(count, 'The same.'),
    floating_in_use_devices: described(count, 'The same.'),
    is_borrowed: described(flag, 'Whether the user who asks has borrowed the slot.'),
    borrowed_until: described(date, 'Until when; null: it is not borrowed.'),
    can_borrow: described(flag, 'Whether slots may be borrowed.'),
    max_borrow_time: described(hours, 'For how many hours at most.'),
    start_date: described(date, 'When it becomes valid; null: at once.'),
    validity_period: described(date, 'Until when it is valid; null: without an end.'),
    maintenance_period: described(date, 'Until when there are updates; null: not stated.'),
    allow_grace_period: described(flag, 'Whether it works for a while after its end.'),
    grace_period: described(hours, 'For how many hours.'),
    prevent_vm: described(z.literal(false), 'Always false.'),
    max_activations: described(count, 'On how many machines it may be active.'),
    times_activated: described(count, 'On how many it is.'),
    max_transfers: described(count, 'How often it may move to another machine.'),
    transfer_count: described(count, 'How often it has.'),
    allow_unlimited_activations: described(flag, 'Whether max_activations does not apply.'),
    ...consumption,
    product_features: described(z.array(featureObject), 'Its features.'),
    custom_fields: described(z.array(facts), 'Fields of the vendor.'),
    metadata: described(facts, 'What the vendor adds.'),
    customer: described(facts, 'Whom the license was issued to.'),
    product_details: productDetails,
  })
  .meta({ id: 'License', description: 'A license, and how much of it is in use.' });

export type LicenseObject = z.output<typeof licenseObject>;
export type FeatureObject = z.output<typeof featureObject>;
