import type { FeatureObject, LicenseObject } from '../api/license-object.ts';

/** The `typ` of grants. Nothing else that a server signs has it, so nothing else passes as a grant. */
export const GRANT_TYPE = 'berth-grant+jwt';

/** What a grant says. Fields that the license object has, too, have the same meaning. */
export interface GrantClaims extends GrantedTerms {
  readonly user: string;
  /** The code of the feature whose slot this is; `null`: the license's own slot. */
  readonly feature: string | null;
  readonly borrowed: boolean;
  readonly issued_at: string;
  /** When the slot ends, unless it is renewed before. */
  readonly valid_until: string;
  /** Both dates in seconds since 1970, rounded down, for libraries that check them. */
  readonly iat: number;
  readonly exp: number;
  readonly hardware_id: string;
  readonly nonce: string;
  /** The computer that the request named; `null` if it named no computer. */
  readonly device_mark: string | null;
}

/** The part that changes only with the license. */
export interface GrantedTerms {
  readonly license_id: number;
  readonly product: string;
  readonly limits: Pick<
    LicenseObject,
    | 'license_type'
    | 'is_trial'
    | 'floating_users'
    | 'floating_timeout'
    | 'max_borrow_time'
    | 'validity_period'
    | 'max_consumptions'
    | 'allow_unlimited_consumptions'
  >;
  readonly features: readonly GrantedFeature[];
}

export interface GrantedFeature
  extends Pick<
    FeatureObject,
    'code' | 'feature_type' | 'max_consumptions' | 'allow_unlimited_consumptions' | 'expiry_date'
  > {
  /** How many slots it has; `null`: it is not floating. */
  readonly floating_users: number | null;
}
