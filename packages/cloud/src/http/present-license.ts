import type { KeyObject } from 'node:crypto';
import type { ConsumptionAnswer } from '@berth/protocol/api/consumption';
import type { FeatureObject, LicenseObject } from '@berth/protocol/api/license-object';
import { licenseSignatureText, signBytes } from '@berth/protocol/cloud/vendor-signature';
import { formatTimestamp } from '@berth/protocol/timestamp';
import { type Licensed, WHOLE_LICENSE } from '../core/decision.ts';
import { isExpired, type License, type Product } from '../core/license.ts';
import type { ConsumptionLimits, Feature, Lending } from '../core/terms.ts';

/** A license that is not floating has no timeout and lends no slots. */
type WireLicense = Omit<LicenseObject, 'is_floating' | 'floating_timeout'> & {
  readonly is_floating: boolean;
  readonly floating_timeout: number | null;
};

/** The license as sent to the requesting machine. */
export function presentLicensed(outcome: Licensed, signingKey: KeyObject, now: number) {
  const { license, hardwareId } = outcome;
  const fields = presentUnsigned(outcome, now);
  const signed = licenseSignatureText(hardwareId, license.key, fields.validity_period);
  return { ...fields, license_signature: signBytes(signingKey, Buffer.from(signed)) };
}

/** The same without a signature: files are signed separately. */
export function presentUnsigned(outcome: Licensed, now: number) {
  const { license, hardwareId, deviceId } = outcome;
  return {
    ...licenseFields(outcome, now),
    company: license.terms.company,
    order_store_id: null,
    device_id: deviceId,
    hardware_id: hardwareId,
  };
}

/** Certificates for the server that the license is for, if there are any. */
export function certificateField(certificates: readonly string[]) {
  return certificates.length === 0 ? {} : { server_certificates: certificates };
}

function licenseFields({ license, deviceCount, totals }: Licensed, now: number): WireLicense {
  const { id, terms } = license;
  return {
    id,
    license_id: id,
    product: license.product.code,
    license_key: license.key,
    license_type: terms.type,
    license_active: license.isActive,
    license_enabled: license.isEnabled,
    is_expired: isExpired(terms, now),
    is_trial: false,
    ...slotFields(terms.lending),
    start_date: presentDate(terms.startsAt),
    validity_period: presentDate(terms.validUntil),
    maintenance_period: null,
    allow_grace_period: terms.graceHours > 0,
    grace_period: terms.graceHours,
    prevent_vm: false,
    ...activationFields(license, deviceCount),
    total_consumptions: totals.get(WHOLE_LICENSE) ?? 0,
    ...limitFields(terms.consumption),
    product_features: terms.features.map((one) => presentFeature(id, one, totals.get(one.code) ?? 0)),
    custom_fields: [],
    metadata: terms.metadata,
    customer: terms.company === null ? {} : { company_name: terms.company },
    product_details: presentProduct(license.product),
  };
}

/** No slots are in use here: the license server lends them. */
function slotFields(lending: Lending | null) {
  return {
    is_floating: lending !== null,
    is_floating_cloud: false,
    floating_timeout: lending?.timeoutMinutes ?? null,
    floating_users: lending?.slots ?? 0,
    floating_slots_in_use: 0,
    floating_in_use: 0,
    floating_in_use_devices: 0,
    is_borrowed: false,
    borrowed_until: null,
    can_borrow: (lending?.borrowHours ?? 0) > 0,
    max_borrow_time: lending?.borrowHours ?? 0,
  } as const;
}

function activationFields({ terms, transferCount }: License, deviceCount: number) {
  return {
    max_activations: terms.maxActivations ?? 0,
    times_activated: deviceCount,
    allow_unlimited_activations: terms.maxActivations === null,
    // Deactivations are counted, but never limited.
    max_transfers: 0,
    transfer_count: transferCount,
  };
}

function presentDate(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at);
}

function limitFields({ max, overages, allowNegative, period }: ConsumptionLimits) {
  return {
    max_consumptions: max ?? 0,
    allow_overages: overages > 0,
    max_overages: overages,
    allow_unlimited_consumptions: max === null,
    allow_negative_consumptions: allowNegative,
    reset_consumption: period !== null,
    consumption_period: period,
  };
}

export function presentFeature(licenseId: number, feature: Feature, total: number): FeatureObject {
  return {
    id: feature.id,
    license_id: licenseId,
    code: feature.code,
    name: feature.name,
    feature_type: feature.type,
    max_consumption: feature.consumption.max ?? 0,
    total_consumptions: total,
    ...limitFields(feature.consumption),
    is_floating: feature.lending !== null,
    is_floating_cloud: false,
    ...(feature.lending === null ? {} : featureSlotFields(feature.lending)),
    expiry_date: presentDate(feature.expiresAt),
    metadata: {},
  };
}

function featureSlotFields({ slots, timeoutMinutes, borrowHours }: Lending) {
  return {
    floating_timeout: timeoutMinutes,
    floating_users: slots,
    floating_in_use_devices: 0,
    can_borrow: borrowHours > 0,
    max_borrow_time: borrowHours,
  };
}

export function presentTotal({ id, terms }: License, total: number): ConsumptionAnswer {
  return { id, total_consumptions: total, ...limitFields(terms.consumption) };
}

export function presentProduct({ id, code, name, authorizationMethod, metadata }: Product) {
  return {
    product_id: id,
    product_name: name,
    short_code: code,
    authorization_method: authorizationMethod,
    metadata,
  };
}
