import type { GrantClaims, GrantedFeature, GrantedTerms } from '@berth/protocol/grant/grant-claims';
import { formatTimestamp } from '@berth/protocol/timestamp';
import { type Fields, fieldsOf } from '@berth/web/reply';
import type { Feature } from '../../core/nouns/feature.ts';
import { type Instant, SECOND_MS } from '../../core/nouns/instant.ts';
import type { License } from '../../core/nouns/license.ts';
import type { SignedGrant } from '../../services/grants/grants.ts';
import { presentDate } from './present-license.ts';

/** What was lent, and to whom. */
export interface GrantFacts {
  readonly license: License;
  /** `null`: the license's own slot. */
  readonly feature: Feature | null;
  readonly user: string;
  readonly isBorrowed: boolean;
  readonly validUntil: Instant;
  readonly now: Instant;
}

/** What the request has sent only to have it signed. */
export interface GrantMarks {
  readonly nonce: string;
  readonly device_mark?: string | undefined;
}

/** The claims as JSON text. */
export function presentGrant(facts: GrantFacts, marks: GrantMarks, hardwareId: string): string {
  const { license, feature, user, isBorrowed, validUntil, now } = facts;
  const claims: Omit<GrantClaims, keyof GrantedTerms> = {
    user,
    feature: feature?.code ?? null,
    borrowed: isBorrowed,
    issued_at: formatTimestamp(now),
    valid_until: formatTimestamp(validUntil),
    iat: inSeconds(now),
    exp: inSeconds(validUntil),
    hardware_id: hardwareId,
    nonce: marks.nonce,
    device_mark: marks.device_mark ?? null,
  };
  const terms = feature === null ? termsText(license) : fieldsOf(presentTerms(license, [feature]));
  return `{${terms},${fieldsOf(claims)}}`;
}

function inSeconds(at: Instant): number {
  return Math.floor(at / SECOND_MS);
}

/** A cache: a license may have a thousand features. */
const texts = new WeakMap<License, string>();

function termsText(license: License): string {
  const known = texts.get(license);
  if (known !== undefined) return known;
  const made = fieldsOf(presentTerms(license));
  texts.set(license, made);
  return made;
}

/** What a license grants; in the grant of a feature only that one. */
export function presentTerms(license: License, features = license.features): GrantedTerms {
  return {
    license_id: license.id,
    product: license.product,
    limits: {
      license_type: license.type,
      is_trial: license.particulars.isTrial,
      floating_users: license.slots,
      floating_timeout: license.timeoutMinutes,
      max_borrow_time: license.canBorrow ? license.maxBorrowHours : 0,
      validity_period: presentDate(license.validUntil),
      max_consumptions: license.consumption.max,
      allow_unlimited_consumptions: license.consumption.unlimited,
    },
    features: features.map(presentGranted),
  };
}

function presentGranted({ code, type, consumption, floating, expiresAt }: Feature): GrantedFeature {
  return {
    code,
    feature_type: type,
    max_consumptions: consumption.max,
    allow_unlimited_consumptions: consumption.unlimited,
    expiry_date: presentDate(expiresAt),
    floating_users: floating?.slots ?? null,
  };
}

/** The answer with its grant. A JWS needs no escaping in JSON. */
export function withGrant(
  { fields, isAscii }: Fields,
  { grant, certificates: [first, ...others] }: SignedGrant,
): Fields {
  const more = others.length === 0 ? '' : `,"other_certificates":${JSON.stringify(others)}`;
  const proof = first === undefined ? '' : `,"certificate":"${first}"${more}`;
  return { fields: `${fields},"grant":"${grant}"${proof}`, isAscii };
}
