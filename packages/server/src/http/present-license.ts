import type { FeatureObject, LicenseObject } from '@berth/protocol/license-object';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { ConsumptionLimits, Feature } from '../core/feature.ts';
import type { Instant } from '../core/instant.ts';
import { type License, licenseState } from '../core/license.ts';
import { isBorrowed, type Registration } from '../core/registration.ts';

/** A license at a moment, perhaps as one of its users sees it. */
export interface LicenseMoment {
  readonly license: License;
  readonly inUse: number;
  readonly registration: Registration | null;
  readonly now: Instant;
}

/** Fields that change from answer to answer; all others stay as long as the license does. */
type MomentFields =
  | 'is_expired'
  | 'floating_slots_in_use'
  | 'floating_in_use'
  | 'floating_in_use_devices'
  | 'is_borrowed'
  | 'borrowed_until';

/** The lasting fields as JSON text without its closing brace, plain and as it stands inside a JSON string. */
interface LastingText {
  readonly plain: string;
  readonly quoted: string;
}

/** A license that did not change is not serialised again: its text is kept as long as the object lives. */
const lastingTexts = new WeakMap<License, LastingText>();

function lastingText(license: License): LastingText {
  const known = lastingTexts.get(license);
  if (known !== undefined) return known;
  const plain = JSON.stringify(lastingFields(license)).slice(0, -1);
  const made = { plain, quoted: JSON.stringify(plain).slice(1, -1) };
  lastingTexts.set(license, made);
  return made;
}

/** The license object as JSON text. */
export function presentLicense(moment: LicenseMoment): string {
  return `${lastingText(moment.license).plain},${momentText(moment)}}`;
}

/** The license at top level and once more as a text in `license_json`: clients read either. */
export function presentGranted(moment: LicenseMoment): string {
  const { plain, quoted } = lastingText(moment.license);
  const fields = momentText(moment);
  return `${plain},${fields},"license_json":"${quoted},${fields.replaceAll('"', '\\"')}}"}`;
}

/**
 * The changing fields as the inside of a JSON object. Numbers, booleans and dates only: nothing needs
 * escaping.
 */
function momentText({ license, inUse, registration, now }: LicenseMoment): string {
  const isHeldByBorrow = registration !== null && isBorrowed(registration, now);
  const fields: Pick<LicenseObject, MomentFields> = {
    is_expired: licenseState(license, now) === 'expired',
    floating_slots_in_use: inUse,
    floating_in_use: inUse,
    floating_in_use_devices: inUse,
    is_borrowed: isHeldByBorrow,
    borrowed_until: isHeldByBorrow ? presentDate(registration.borrowedUntil) : null,
  };
  return JSON.stringify(fields).slice(1, -1);
}

function presentDate(at: Instant | null): string | null {
  return at === null ? null : formatTimestamp(at);
}

function lastingFields(license: License): Omit<LicenseObject, MomentFields> {
  const { particulars } = license;
  return {
    id: license.id,
    license_id: license.id,
    product: license.product,
    license_key: license.key,
    license_type: license.type,
    license_active: license.active,
    license_enabled: license.enabled,
    is_trial: particulars.isTrial,
    is_floating: true,
    is_floating_cloud: false,
    floating_timeout: license.timeoutMinutes,
    floating_users: license.slots,
    can_borrow: license.canBorrow,
    max_borrow_time: license.maxBorrowHours,
    start_date: presentDate(license.startsAt),
    validity_period: presentDate(license.validUntil),
    maintenance_period: presentDate(particulars.maintenanceUntil),
    allow_grace_period: license.allowGracePeriod,
    grace_period: license.graceHours,
    prevent_vm: false,
    max_activations: particulars.maxActivations,
    times_activated: particulars.timesActivated,
    max_transfers: particulars.maxTransfers,
    transfer_count: particulars.transferCount,
    allow_unlimited_activations: particulars.allowUnlimitedActivations,
    ...consumptionFields(license.consumption),
    product_features: license.features.map((feature) => presentFeature(license, feature)),
    custom_fields: [...particulars.customFields],
    metadata: particulars.metadata,
    customer: particulars.customer,
    product_details: {
      product_id: particulars.productDetails.id,
      product_name: particulars.productDetails.name,
      short_code: license.product,
      authorization_method: particulars.productDetails.authorizationMethod,
      metadata: particulars.productDetails.metadata,
    },
  };
}

function presentFeature(license: License, feature: Feature): FeatureObject {
  return {
    id: feature.id,
    license_id: license.id,
    code: feature.code,
    name: feature.name,
    feature_type: feature.type,
    max_consumption: feature.consumption.max,
    ...consumptionFields(feature.consumption),
    is_floating: feature.floating !== null,
    is_floating_cloud: false,
    ...(feature.floating === null ? {} : floatingFields(feature.floating)),
    expiry_date: presentDate(feature.expiresAt),
    metadata: feature.metadata,
  };
}

function floatingFields({ slots, timeoutMinutes }: NonNullable<Feature['floating']>) {
  return { floating_timeout: timeoutMinutes, floating_users: slots, floating_in_use_devices: 0 };
}

function consumptionFields(limits: ConsumptionLimits) {
  return {
    max_consumptions: limits.max,
    total_consumptions: 0,
    allow_overages: limits.allowOverages,
    max_overages: limits.maxOverages,
    allow_unlimited_consumptions: limits.unlimited,
    allow_negative_consumptions: limits.allowNegative,
    reset_consumption: limits.period !== null,
    consumption_period: limits.period,
  };
}
