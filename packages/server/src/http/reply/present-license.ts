import type { FeatureObject, LicenseObject } from '@berth/protocol/api/license-object';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { ConsumptionTotals, FeatureTotals } from '../../core/nouns/consumption.ts';
import {
  type ConsumptionLimits,
  type Feature,
  type FeatureLending,
  indexByCode,
} from '../../core/nouns/feature.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../core/nouns/instant.ts';
import { type License, type LicenseId, licenseState } from '../../core/nouns/license.ts';
import { isBorrowed, type Registration } from '../../core/nouns/registration.ts';
import { type Fields, fieldsOf } from './reply.ts';

/** A license at a given time, optionally with the registration of one user. */
interface LicenseMoment {
  readonly license: License;
  readonly inUse: number;
  readonly totals: ConsumptionTotals;
  readonly registration: Registration | null;
  readonly now: Instant;
}

interface GrantedMoment extends LicenseMoment {
  readonly registration: Registration;
}

/** Quotes, or those within a JSON string. */
type Quote = '"' | '\\"';

/** Fields that change between responses; all others depend only on the license. */
type MomentFields =
  | 'is_expired'
  | 'floating_slots_in_use'
  | 'floating_in_use'
  | 'floating_in_use_devices'
  | 'is_borrowed'
  | 'borrowed_until'
  | 'total_consumptions'
  | 'product_features';

/** Fields as JSON text, plain and escaped for use inside a JSON string. */
interface PreparedText {
  readonly plain: string;
  readonly quoted: string;
  readonly isAscii: boolean;
}

function prepare(plain: string): PreparedText {
  const isAscii = Buffer.byteLength(plain) === plain.length;
  return { plain, quoted: JSON.stringify(plain).slice(1, -1), isAscii };
}

/** A cache: an unchanged license is not serialised again. */
const lastingTexts = new WeakMap<License, PreparedText>();

function lastingText(license: License): PreparedText {
  const known = lastingTexts.get(license);
  if (known !== undefined) return known;
  const made = prepare(fieldsOf(lastingFields(license)));
  lastingTexts.set(license, made);
  return made;
}

/** The license object as JSON text. */
export function presentLicense(moment: LicenseMoment): string {
  return `{${licenseFields(moment)}}`;
}

/** The same without its braces. */
export function licenseFields(moment: LicenseMoment): string {
  const { plain } = lastingText(moment.license);
  return `${plain},${totalsText(moment).plain},${momentText(moment, '"')}`;
}

/** The license at top level and again as text in `license_json`: clients read either. */
export function grantedFields(moment: LicenseMoment): Fields {
  const lasting = lastingText(moment.license);
  const totals = totalsText(moment);
  const quoted = `{${lasting.quoted},${totals.quoted},${momentText(moment, '\\"')}}`;
  const fields = `${lasting.plain},${totals.plain},${momentText(moment, '"')},"license_json":"${quoted}"`;
  return { fields, isAscii: lasting.isAscii && totals.isAscii };
}

/** What a heartbeat is sent for, without the license. */
export function minimalFields({ license, inUse, registration, now }: GrantedMoment): Fields {
  const fields =
    `"license_id":${license.id},"floating_users":${license.slots},"floating_in_use":${inUse},` +
    `${borrowText(registration, now, '"')}${slotText(license, registration, now, '"')}`;
  return { fields, isAscii: true };
}

/** A cache of the consumption text by totals, each for one license. */
const totalsTexts = new WeakMap<ConsumptionTotals, { license: License; text: PreparedText }>();

function totalsText({ license, totals }: LicenseMoment): PreparedText {
  const known = totalsTexts.get(totals);
  if (known !== undefined && known.license === license) return known.text;
  const counted = indexByCode(totals.features);
  const fields: Pick<LicenseObject, 'total_consumptions' | 'product_features'> = {
    total_consumptions: totals.total,
    product_features: license.features.map((feature) =>
      presentFeature(license.id, feature, counted.get(feature.code) ?? { total: 0, inUse: 0 }),
    ),
  };
  const text = prepare(fieldsOf(fields));
  totalsTexts.set(totals, { license, text });
  return text;
}

/**
 * The changing fields without braces. Written out, because they are in every answer; only numbers, booleans
 * and dates, so nothing needs escaping but the quotes.
 */
function momentText({ license, inUse, registration, now }: LicenseMoment, q: Quote): string {
  const isExpired = licenseState(license, now) === 'expired';
  const inUseText = `${q}floating_in_use${q}:${inUse},${q}floating_in_use_devices${q}:${inUse}`;
  return (
    `${q}is_expired${q}:${isExpired},${q}floating_slots_in_use${q}:${inUse},${inUseText},` +
    borrowText(registration, now, q) +
    (registration === null ? '' : slotText(license, registration, now, q))
  );
}

function borrowText(registration: Registration | null, now: Instant, q: Quote): string {
  const isHeldByBorrow = registration !== null && isBorrowed(registration, now);
  const until = isHeldByBorrow ? presentDate(registration.borrowedUntil) : null;
  const date = until === null ? null : q + until + q;
  return `${q}is_borrowed${q}:${isHeldByBorrow},${q}borrowed_until${q}:${date}`;
}

/** Of three heartbeats within a timeout, two may get lost. */
const HEARTBEATS = 3;

function slotText(license: License, { endsAt }: Registration, now: Instant, q: Quote): string {
  const leftMs = endsAt - now;
  const renewMs = Math.min(leftMs, license.timeoutMinutes * MINUTE_MS) / HEARTBEATS;
  return (
    `,${q}slot_ends_at${q}:${q}${presentEnd(endsAt)}${q},` +
    `${q}slot_ends_in_seconds${q}:${Math.floor(leftMs / SECOND_MS)},` +
    `${q}renew_in_seconds${q}:${Math.floor(renewMs / SECOND_MS)}`
  );
}

let lastEnd = { at: Number.NaN, text: '' };

/** A cache: slots that are renewed at the same time mostly end at the same time. */
function presentEnd(at: Instant): string {
  if (lastEnd.at !== at) lastEnd = { at, text: formatTimestamp(at) };
  return lastEnd.text;
}

export function presentDate(at: Instant | null): string | null {
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
    ...limitFields(license.consumption),
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

/** A feature and its consumption. */
export function presentFeature(
  id: LicenseId,
  feature: Feature,
  { total, inUse }: Pick<FeatureTotals, 'total' | 'inUse'>,
): FeatureObject {
  return {
    id: feature.id,
    license_id: id,
    code: feature.code,
    name: feature.name,
    feature_type: feature.type,
    max_consumption: feature.consumption.max,
    total_consumptions: total,
    ...limitFields(feature.consumption),
    is_floating: feature.floating !== null,
    is_floating_cloud: false,
    ...(feature.floating === null ? {} : floatingFields(feature.floating, inUse)),
    expiry_date: presentDate(feature.expiresAt),
    metadata: feature.metadata,
  };
}

function floatingFields({ slots, timeoutMinutes }: FeatureLending, inUse: number) {
  return { floating_timeout: timeoutMinutes, floating_users: slots, floating_in_use_devices: inUse };
}

/** The consumption limits of a license or a feature. */
export function limitFields(limits: ConsumptionLimits) {
  return {
    max_consumptions: limits.max,
    allow_overages: limits.allowOverages,
    max_overages: limits.maxOverages,
    allow_unlimited_consumptions: limits.unlimited,
    allow_negative_consumptions: limits.allowNegative,
    reset_consumption: limits.period !== null,
    consumption_period: limits.period,
  };
}
