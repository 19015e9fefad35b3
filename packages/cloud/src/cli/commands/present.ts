import { formatTimestamp } from '@berth/protocol/timestamp';
import { type Totals, WHOLE_LICENSE } from '../../core/decision.ts';
import { isExpired, isStarted, type License, type Product } from '../../core/license.ts';
import type { ConsumptionLimits, Feature, Lending } from '../../core/terms.ts';
import type { ListedDevice } from '../../store/devices.ts';
import type { ListedEvent } from '../../store/events.ts';
import type { CallerKey } from '../../store/keys/keys.ts';

/** The output of `--json`: field names as in the API, with the unit as a suffix. */
export function presentDate(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at);
}

/** What is in a file that the vendor hands to a customer. */
export function sayCertificate(expiresAt: unknown): string {
  if (typeof expiresAt === 'string') return `Its certificate for the server is valid until ${expiresAt}.`;
  return 'It has no certificate for the server: nobody has proven the grant key of one.';
}

/** A prefix long enough to identify a key, but too short to use it. */
const FINGERPRINT_LENGTH = 8;

export function presentKey({ name, customer, apiKey, isEnabled, createdAt }: CallerKey) {
  const fingerprint = `${apiKey.slice(0, FINGERPRINT_LENGTH)}…`;
  return { name, customer, fingerprint, enabled: isEnabled, created_at: presentDate(createdAt) };
}

export function presentProductRow({ id, code, name, authorizationMethod }: Product) {
  return { product_id: id, short_code: code, product_name: name, authorization_method: authorizationMethod };
}

/** A license at a given time, as the vendor sees it. */
interface LicenseMoment {
  readonly license: License;
  readonly totals: Totals;
  readonly devices: readonly ListedDevice[];
  readonly now: number;
}

export function presentLicenseFacts({ license, totals, devices, now }: LicenseMoment) {
  const { terms } = license;
  return {
    id: license.id,
    license_key: license.key,
    product: license.product.code,
    user: license.user?.name ?? null,
    customer: license.customer,
    type: terms.type,
    enabled: license.isEnabled,
    state: stateOf(license, now),
    starts_at: presentDate(terms.startsAt),
    valid_until: presentDate(terms.validUntil),
    grace_hours: terms.graceHours,
    ...lendingFacts(terms.lending),
    activations: devices.length,
    max_activations: terms.maxActivations,
    transfer_count: license.transferCount,
    ...(terms.type === 'consumption' ? countFacts(terms.consumption, totals.get(WHOLE_LICENSE) ?? 0) : {}),
    company: terms.company,
    metadata: terms.metadata,
    features: terms.features.map((feature) => presentFeatureFacts(feature, totals.get(feature.code) ?? 0)),
    devices: devices.map(presentDevice),
  };
}

export const LICENSE_STATES = [
  'active',
  'in grace',
  'expired',
  'disabled',
  'not activated',
  'not started',
] as const;

type LicenseState = (typeof LICENSE_STATES)[number];

/** A state as a word of a command. */
export function flagOfState(state: LicenseState): string {
  return state.replace(' ', '-');
}

/** In the order in which the API checks them. */
export function stateOf(license: License, now: number): LicenseState {
  if (!license.isEnabled) return 'disabled';
  if (isExpired(license.terms, now)) return 'expired';
  if (!license.isActive) return 'not activated';
  if (!isStarted(license.terms, now)) return 'not started';
  const { validUntil } = license.terms;
  return validUntil !== null && now >= validUntil ? 'in grace' : 'active';
}

function lendingFacts(lending: Lending | null) {
  return {
    slots: lending?.slots ?? 0,
    timeout_minutes: lending?.timeoutMinutes ?? null,
    borrow_hours: lending?.borrowHours ?? 0,
  };
}

function countFacts({ max, overages, allowNegative, period }: ConsumptionLimits, total: number) {
  return {
    total_consumptions: total,
    max_consumptions: max,
    max_overages: overages,
    allow_negative_consumptions: allowNegative,
    consumption_period: period,
  };
}

function presentFeatureFacts(feature: Feature, total: number) {
  return {
    id: feature.id,
    code: feature.code,
    name: feature.name,
    type: feature.type,
    ...lendingFacts(feature.lending),
    ...(feature.type === 'consumption' ? countFacts(feature.consumption, total) : {}),
    expires_at: presentDate(feature.expiresAt),
  };
}

export function presentDevice(device: ListedDevice) {
  return {
    id: device.id,
    license_key: device.licenseKey,
    hardware_id: device.hardwareId,
    hostname: device.host.hostname,
    ip: device.host.ip,
    os_ver: device.host.osVersion,
    app_ver: device.host.appVersion,
    activated_at: presentDate(device.activatedAt),
    seen_at: presentDate(device.seenAt),
    blocked: device.isBlocked,
    grant_key: device.grantKey,
    proven: device.isProven,
    certified_until: presentDate(device.certifiedUntil),
  };
}

export function presentEvent({ seq, at, kind, licenseKey, facts }: ListedEvent) {
  return { seq, at: presentDate(at), kind, license_key: licenseKey, ...facts };
}
