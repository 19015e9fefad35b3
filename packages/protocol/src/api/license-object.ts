import { z } from 'zod';
import { told } from '../fields.ts';

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
  max_consumptions: told(count, 'How much may be consumed, without overage.'),
  total_consumptions: told(count, 'How much was consumed in this period.'),
  allow_overages: told(flag, 'Whether more than the maximum may be consumed.'),
  max_overages: told(count, 'How much more.'),
  allow_unlimited_consumptions: told(flag, 'Whether there is no maximum.'),
  allow_negative_consumptions: told(flag, 'Whether a negative count may take back.'),
  reset_consumption: told(flag, 'Whether the total starts from 0 in every period.'),
  consumption_period: told(period.nullable(), 'The length of a period; null: there is only one.'),
};

export const featureObject = z
  .object({
    id: told(count, 'The id of the feature.'),
    license_id: told(count, 'The id of its license.'),
    code: told(z.string(), 'The feature code.'),
    name: told(z.string(), 'Its name.'),
    feature_type: told(featureType, 'Whether it is counted.'),
    max_consumption: told(count, 'The same as max_consumptions; clients read either.'),
    ...consumption,
    is_floating: told(flag, 'Whether it has slots of its own.'),
    is_floating_cloud: told(z.literal(false), 'Always false.'),
    floating_timeout: told(
      count.optional(),
      'Minutes without a heartbeat until a slot is free; only if floating.',
    ),
    floating_users: told(count.optional(), 'How many slots there are; only if floating.'),
    floating_in_use_devices: told(count.optional(), 'How many of them are in use; only if floating.'),
    expiry_date: told(date, 'When the feature ends; null: with the license.'),
    metadata: told(facts, 'What the vendor adds.'),
  })
  .meta({ id: 'Feature', description: 'A feature of a license, and what was counted of it.' });

const productDetails = z
  .object({
    product_id: told(count, "The vendor's id of the product."),
    product_name: told(z.string(), 'Its name.'),
    short_code: told(z.string(), 'The product code.'),
    authorization_method: told(z.string(), 'How the license was activated: by a key or by a user.'),
    metadata: told(facts, 'What the vendor adds.'),
  })
  .meta({ id: 'ProductDetails', description: 'The product of a license.' });

/**
 * The license as clients read it, without the server's hardware id: clients compare that field with their own
 * and would refuse the license.
 */
export const licenseObject = z
  .object({
    id: told(count, 'The id of the license; clients send it back as license_id.'),
    license_id: told(count, 'The same.'),
    product: told(z.string(), 'The product code.'),
    license_key: told(z.string(), 'The license key.'),
    license_type: told(licenseType, 'What kind of license it is.'),
    license_active: told(flag, 'Whether it is active.'),
    license_enabled: told(flag, 'Whether the vendor has not disabled it.'),
    is_expired: told(flag, 'Whether it has ended, including its grace period.'),
    is_trial: told(flag, 'Whether it is a trial.'),
    is_floating: told(z.literal(true), 'Always true.'),
    is_floating_cloud: told(z.literal(false), 'Always false.'),
    floating_timeout: told(count.min(1), 'Minutes without a heartbeat until a slot is free.'),
    floating_users: told(count, 'How many slots there are.'),
    floating_slots_in_use: told(count, 'How many of them are in use.'),
    floating_in_use: told(count, 'The same.'),
    floating_in_use_devices: told(count, 'The same.'),
    is_borrowed: told(flag, 'Whether the user who asks has borrowed the slot.'),
    borrowed_until: told(date, 'Until when; null: it is not borrowed.'),
    can_borrow: told(flag, 'Whether slots may be borrowed.'),
    max_borrow_time: told(hours, 'For how many hours at most.'),
    start_date: told(date, 'When it becomes valid; null: at once.'),
    validity_period: told(date, 'Until when it is valid; null: without an end.'),
    maintenance_period: told(date, 'Until when there are updates; null: not stated.'),
    allow_grace_period: told(flag, 'Whether it works for a while after its end.'),
    grace_period: told(hours, 'For how many hours.'),
    prevent_vm: told(z.literal(false), 'Always false.'),
    max_activations: told(count, 'On how many machines it may be active.'),
    times_activated: told(count, 'On how many it is.'),
    max_transfers: told(count, 'How often it may move to another machine.'),
    transfer_count: told(count, 'How often it has.'),
    allow_unlimited_activations: told(flag, 'Whether max_activations does not apply.'),
    ...consumption,
    product_features: told(z.array(featureObject), 'Its features.'),
    custom_fields: told(z.array(facts), 'Fields of the vendor.'),
    metadata: told(facts, 'What the vendor adds.'),
    customer: told(facts, 'Whom the license was issued to.'),
    product_details: productDetails,
  })
  .meta({ id: 'License', description: 'A license, and how much of it is in use.' });

export type LicenseObject = z.output<typeof licenseObject>;
export type FeatureObject = z.output<typeof featureObject>;
