import type { KeyObject } from 'node:crypto';
import type { CloudFeature, CloudLicense } from '@berth/protocol/cloud/cloud-license';
import { readCertificates } from '@berth/protocol/grant/server-certificate';
import type { ConsumptionLimits, Feature, FeatureLending } from '../core/nouns/feature.ts';
import { type Instant, instant } from '../core/nouns/instant.ts';
import { licenseId } from '../core/nouns/license.ts';
import type { Vouched } from './cloud.ts';

/** The default timeout of this API, if the vendor sets none. */
const DEFAULT_TIMEOUT_MINUTES = 120;

/** Converts the vendor's license to ours. */
export function readVendorLicense(wire: CloudLicense): Omit<Vouched, 'certificates'> {
  return {
    isFloating: wire.is_floating && wire.floating_users > 0,
    counted: {
      total: wire.total_consumptions,
      features: wire.product_features.map(({ code, total_consumptions: total }) => ({ code, total })),
    },
    license: {
      id: licenseId(wire.id),
      product: wire.product_details.short_code,
      key: wire.license_key,
      type: wire.license_type,
      slots: wire.floating_users,
      timeoutMinutes: wire.floating_timeout ?? DEFAULT_TIMEOUT_MINUTES,
      canBorrow: wire.can_borrow,
      maxBorrowHours: wire.max_borrow_time,
      enabled: wire.license_enabled,
      active: wire.license_active,
      startsAt: instantOrNull(wire.start_date),
      validUntil: instantOrNull(wire.validity_period),
      allowGracePeriod: wire.allow_grace_period,
      graceHours: wire.grace_period,
      maxOfflineDays: readMaxOfflineDays(wire.metadata),
      consumption: readLimits(wire, wire.max_consumptions),
      features: wire.product_features.map((feature) => readFeature(feature, wire)),
      particulars: readParticulars(wire),
    },
  };
}

/** The certificates in an answer or a file. Unusable ones are left out. */
export function readServerCertificates(
  fields: Readonly<Record<string, unknown>>,
  keys: readonly KeyObject[],
) {
  const { server_certificates: texts } = fields;
  return Array.isArray(texts) ? readCertificates(texts, keys) : [];
}

function instantOrNull(at: number | null): Instant | null {
  return at === null ? null : instant(at);
}

/** A number of days, or digits; anything else means no limit. */
function readMaxOfflineDays(metadata: CloudLicense['metadata']): number | null {
  const { max_offline_days: given } = metadata;
  const isDigits = typeof given === 'string' && /^\d+([.]\d+)?$/.test(given.trim());
  const days = typeof given === 'number' || isDigits ? Number(given) : Number.NaN;
  return Number.isFinite(days) && days > 0 ? days : null;
}

function readLimits(wire: CloudLicense | CloudFeature, max: number): ConsumptionLimits {
  return {
    max,
    unlimited: wire.allow_unlimited_consumptions,
    allowOverages: wire.allow_overages,
    maxOverages: wire.max_overages,
    allowNegative: wire.allow_negative_consumptions,
    period: wire.reset_consumption ? (wire.consumption_period ?? null) : null,
  };
}

function readFeature(wire: CloudFeature, license: CloudLicense): Feature {
  return {
    id: wire.id,
    code: wire.code,
    name: wire.name,
    type: wire.feature_type,
    consumption: readLimits(wire, wire.max_consumptions ?? wire.max_consumption ?? 0),
    floating: wire.is_floating ? readLending(wire, license) : null,
    expiresAt: instantOrNull(wire.expiry_date),
    metadata: wire.metadata,
  };
}

/** A feature inherits unset terms from its license. */
function readLending(wire: CloudFeature, license: CloudLicense): FeatureLending {
  return {
    slots: wire.floating_users ?? license.floating_users,
    timeoutMinutes: wire.floating_timeout ?? license.floating_timeout ?? DEFAULT_TIMEOUT_MINUTES,
    canBorrow: wire.can_borrow ?? license.can_borrow,
    maxBorrowHours: wire.max_borrow_time ?? license.max_borrow_time,
  };
}

function readParticulars(wire: CloudLicense) {
  const { product_details: product } = wire;
  return {
    isTrial: wire.is_trial,
    maintenanceUntil: instantOrNull(wire.maintenance_period),
    maxActivations: wire.max_activations,
    timesActivated: wire.times_activated,
    allowUnlimitedActivations: wire.allow_unlimited_activations,
    maxTransfers: wire.max_transfers,
    transferCount: wire.transfer_count,
    customFields: wire.custom_fields,
    metadata: wire.metadata,
    customer: wire.customer,
    productDetails: {
      id: product.product_id,
      name: product.product_name,
      authorizationMethod: product.authorization_method,
      metadata: product.metadata,
    },
  };
}
