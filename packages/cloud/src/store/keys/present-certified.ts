import type { CertifiedLicense } from '@berth/protocol/grant/server-certificate';
import { formatTimestamp } from '@berth/protocol/timestamp';
import { type License, licenseEnd } from '../../core/license.ts';
import type { ConsumptionLimits, Feature } from '../../core/terms.ts';

/** What a certificate says about a license, in the words of the grants that it is compared with. */
export function presentCertified({ id, product, terms }: License): CertifiedLicense {
  const { type, lending, validUntil, consumption, features } = terms;
  return {
    license_id: id,
    product: product.code,
    limits: {
      license_type: type,
      is_trial: false,
      floating_users: lending?.slots ?? 0,
      floating_timeout: lending?.timeoutMinutes ?? 0,
      max_borrow_time: lending?.borrowHours ?? 0,
      validity_period: presentDate(validUntil),
      ...presentLimits(consumption),
    },
    features: features.map(presentFeature),
    ends_at: presentDate(licenseEnd(terms)),
  };
}

function presentFeature({ code, type, consumption, expiresAt, lending }: Feature) {
  return {
    code,
    feature_type: type,
    ...presentLimits(consumption),
    expiry_date: presentDate(expiresAt),
    floating_users: lending?.slots ?? null,
  };
}

function presentLimits({ max }: ConsumptionLimits) {
  return { max_consumptions: max ?? 0, allow_unlimited_consumptions: max === null };
}

function presentDate(at: number | null): string | null {
  return at === null ? null : formatTimestamp(at);
}
