import { parseTimestamp } from '../timestamp.ts';
import type { GrantClaims, GrantedFeature, GrantedTerms } from './grant-claims.ts';
import type { CertifiedLicense } from './server-certificate.ts';

/** What a license grants, and of a grant also whose slot it is and how long. */
type Claimed = GrantedTerms & Partial<Pick<GrantClaims, 'feature' | 'valid_until'>>;

/**
 * The first claim that goes beyond what the vendor has certified for the license; `null`: there is none. Less
 * may be claimed. Claims can be anything, because an uncertified server signs what it likes.
 */
export function findExcess(certified: CertifiedLicense, claimed: Claimed): string | null {
  const { limits, features, feature = null, valid_until: validUntil } = claimed;
  if (claimed.license_id !== certified.license_id) return 'license_id';
  if (claimed.product !== certified.product) return 'product';
  for (const name of ['floating_users', 'floating_timeout', 'max_borrow_time'] as const) {
    if (isMore(limits[name], certified.limits[name])) return `limits.${name}`;
  }
  const consumption = findMoreConsumption(limits, certified.limits);
  if (consumption !== null) return `limits.${consumption}`;
  if (isLater(limits.validity_period, certified.limits.validity_period)) return 'limits.validity_period';
  if (validUntil !== undefined && isLater(validUntil, certified.ends_at)) return 'valid_until';
  const byCode = new Map(certified.features.map((one) => [one.code, one]));
  if (feature !== null && !byCode.has(feature)) return 'feature';
  for (const one of features) {
    const what = findMoreOfFeature(one, byCode.get(one.code));
    if (what !== null) return `features.${one.code}${what}`;
  }
  return null;
}

function findMoreOfFeature(claimed: GrantedFeature, certified: GrantedFeature | undefined): string | null {
  if (certified === undefined) return '';
  const consumption = findMoreConsumption(claimed, certified);
  if (consumption !== null) return `.${consumption}`;
  if (isMore(claimed.floating_users ?? 0, certified.floating_users ?? 0)) return '.floating_users';
  return isLater(claimed.expiry_date, certified.expiry_date) ? '.expiry_date' : null;
}

type Consumption = Pick<GrantedFeature, 'max_consumptions' | 'allow_unlimited_consumptions'>;

function findMoreConsumption(claimed: Consumption, certified: Consumption): keyof Consumption | null {
  if (certified.allow_unlimited_consumptions) return null;
  if (claimed.allow_unlimited_consumptions !== false) return 'allow_unlimited_consumptions';
  return isMore(claimed.max_consumptions, certified.max_consumptions) ? 'max_consumptions' : null;
}

function isMore(claimed: unknown, most: number): boolean {
  return typeof claimed !== 'number' || !(claimed <= most);
}

/** `null` is never, which is later than any date. So is a value that is not a date. */
function isLater(claimed: unknown, latest: string | null): boolean {
  if (latest === null) return false;
  const [at, end] = [typeof claimed === 'string' ? parseTimestamp(claimed) : null, parseTimestamp(latest)];
  return typeof at !== 'number' || typeof end !== 'number' || at > end;
}
