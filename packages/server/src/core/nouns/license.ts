import type { ConsumptionLimits, Feature } from './feature.ts';
import { DAY_MS, earlier, HOUR_MS, type Instant, MINUTE_MS, plus } from './instant.ts';

export type LicenseId = number & { readonly brand: 'LicenseId' };

export function licenseId(id: number): LicenseId {
  return id as LicenseId;
}

export type LicenseSource = 'cloud' | 'offline' | 'airgap' | 'demo';
type LicenseType = 'perpetual' | 'time-limited' | 'consumption' | 'subscription';

/** What the vendor granted, as plain facts. The functions below say what they allow now. */
export interface License {
  readonly id: LicenseId;
  readonly product: string;
  readonly key: string;
  readonly source: LicenseSource;
  readonly type: LicenseType;

  readonly slots: number;
  /** How long a slot lives without a heartbeat. At least 1. */
  readonly timeoutMinutes: number;
  readonly canBorrow: boolean;
  /** 0 means no borrowing. */
  readonly maxBorrowHours: number;

  readonly enabled: boolean;
  readonly active: boolean;
  readonly startsAt: Instant | null;
  /** The first instant at which it is no longer valid. `null`: for ever. */
  readonly validUntil: Instant | null;
  readonly allowGracePeriod: boolean;
  readonly graceHours: number;

  /** How long it lends without contact to the vendor's cloud; `null`: for ever. */
  readonly maxOfflineDays: number | null;

  readonly consumption: ConsumptionLimits;
  readonly features: readonly Feature[];
  readonly particulars: LicenseParticulars;
  readonly tie: LicenseTie;
}

/** How a license is tied to this server. Berth finds this out; the vendor does not send it. */
export interface LicenseTie {
  /** The hardware id that it was activated for; `null`: it is not bound to a machine. */
  readonly hardwareId: string | null;
  /** Whether the administrator chose that id; left out for licenses that came over the internet. */
  readonly isIdChosen?: boolean;
  /** The user who activated it, if not with a key. */
  readonly username: string | null;
  /** When the vendor's cloud last answered about this license. */
  readonly checkedAt: Instant | null;
  /** When this server was found to have another hardware id. */
  readonly movedAt: Instant | null;
  /** When it came out of a backup, and was not checked at the cloud since; left out otherwise. */
  readonly restoredAt?: Instant;
  /** The date of the newest file that it came in; older ones are refused. */
  readonly fileAt: Instant | null;
  /** The request that the file answered. */
  readonly requestId: string | null;
  /** The confirmation code that a policy came with. */
  readonly confirmationId: string | null;
  readonly isGivenBack: boolean;
  /** The license that has taken its place; left out otherwise. */
  readonly replacedBy?: LicenseId;
  /** The vendor's certificate for the key that signs grants; left out before the first. */
  readonly certificate?: Certificate;
  /** How far the cloud's answers can be trusted; left out before the first. */
  readonly assurance?: Assurance;
}

/** The vendor's word that a grant key belongs to this server; see `protocol/grant/server-certificate.ts`. */
export interface Certificate {
  /** As it was issued, under each key of the vendor; first under the one that signs answers and files. */
  readonly texts: readonly [string, ...string[]];
  readonly kid: string;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
}

/** What the vendor's cloud can say about a license that it no longer grants. */
const VERDICTS = [
  'license_not_enabled',
  'license_not_active',
  'license_expired',
  'blacklisted',
  'device_not_found',
  'license_not_found',
] as const;

export type Verdict = (typeof VERDICTS)[number];

export function isVerdict(code: string): code is Verdict {
  return (VERDICTS as readonly string[]).includes(code);
}

/** How the cloud's answers about a license were secured. */
interface Assurance {
  /** The last one repeated the nonce of its request, so it is no replay. */
  readonly isBound: boolean;
  /** A verdict that was not bound to this license: the next check must confirm it. */
  readonly unconfirmed: Verdict | null;
  /** The last answer had a lower total than one before, and was ignored. */
  readonly keptTotal: boolean;
  /** The last answers were for another license; left out otherwise. */
  readonly doubt?: Doubt;
}

export const NO_ASSURANCE: Assurance = { isBound: false, unconfirmed: null, keptTotal: false };

/** The vendor's cloud knows the key of the license under another id. */
interface Doubt {
  readonly otherId: LicenseId;
  /** When it said so first, and how often since, without any other answer between. */
  readonly since: Instant;
  readonly checks: number;
  /** It lends no new slots until an administrator has settled which license the key is. */
  readonly stopsLending: boolean;
}

/** The license on a machine with this hardware id: at home, or away since it was noticed. */
export function moveTie(license: License, hardwareId: string, now: Instant): License {
  const { tie } = license;
  const isAtHome = tie.hardwareId === null || tie.hardwareId === hardwareId;
  const movedAt = isAtHome ? null : (tie.movedAt ?? now);
  return movedAt === tie.movedAt ? license : { ...license, tie: { ...tie, movedAt } };
}

/** The license after the clock was set back: nothing happened later than now. */
export function clampTie(license: License, now: Instant): License {
  const { checkedAt, movedAt } = license.tie;
  const isAhead = (at: Instant | null) => at !== null && at > now;
  if (!isAhead(checkedAt) && !isAhead(movedAt)) return license;
  const tie = {
    ...license.tie,
    checkedAt: isAhead(checkedAt) ? now : checkedAt,
    movedAt: isAhead(movedAt) ? now : movedAt,
  };
  return { ...license, tie };
}

export const NO_TIE: LicenseTie = {
  hardwareId: null,
  username: null,
  checkedAt: null,
  movedAt: null,
  fileAt: null,
  requestId: null,
  confirmationId: null,
  isGivenBack: false,
};

/** How long a cloud license keeps lending on another machine, until it is activated there. */
const MOVED_DAYS = 7;

/** What Berth passes on to clients, and never decides by. */
interface LicenseParticulars {
  readonly isTrial: boolean;
  readonly maintenanceUntil: Instant | null;
  readonly maxActivations: number;
  readonly timesActivated: number;
  readonly allowUnlimitedActivations: boolean;
  readonly maxTransfers: number;
  readonly transferCount: number;
  readonly customFields: readonly Readonly<Record<string, unknown>>[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly customer: Readonly<Record<string, unknown>>;
  readonly productDetails: ProductDetails;
}

interface ProductDetails {
  readonly id: number;
  readonly name: string;
  readonly authorizationMethod: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What people call it. */
export function nameOfLicense({ particulars, product }: License): string {
  return particulars.productDetails.name || product;
}

/** Returns whether two licenses grant the same. Their ties to this server do not matter. */
export function isSameGrant(a: License, b: License): boolean {
  return listDifferences(a, b).length === 0;
}

/** Keys may be typed in another case. `null`: the vendor has omitted one, so nobody knows. */
export function isSameKey(a: License, b: License): boolean | null {
  return a.key === '' || b.key === '' ? null : a.key.toLowerCase() === b.key.toLowerCase();
}

/** Whether the vendor knows both by one key or one user. It may have got another id at the vendor. */
export function isSameLicense(a: License, b: License): boolean {
  const { username } = a.tie;
  return isSameKey(a, b) ?? (username !== null && username === b.tie.username);
}

/** The names of the facts in which two licenses differ. */
export function listDifferences(before: License, after: License): readonly string[] {
  const names = Object.keys(after) as (keyof License)[];
  const isOther = (name: keyof License) => JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  return names.filter((name) => name !== 'tie' && isOther(name));
}

export type LicenseState =
  | 'disabled'
  | 'inactive'
  | 'not_started'
  | 'expired'
  /** Valid, but bound to another machine than this one. */
  | 'elsewhere'
  /** Valid, but the vendor's cloud has not been reached, or answers for another license, for too long. */
  | 'overdue'
  | 'active'
  | 'in_grace';

/** Computed, never stored: a license needs no timer to start or to end. */
export function licenseState(license: License, now: Instant): LicenseState {
  if (!license.enabled) return 'disabled';
  if (!license.active) return 'inactive';
  if (license.startsAt !== null && now < license.startsAt) return 'not_started';
  const isValid = license.validUntil === null || now < license.validUntil;
  if (!isValid && now >= graceEnd(license, license.validUntil as Instant)) return 'expired';
  if (isElsewhere(license, now)) return 'elsewhere';
  if (isOverdue(license, now)) return 'overdue';
  return isValid ? 'active' : 'in_grace';
}

function isElsewhere({ source, tie }: License, now: Instant): boolean {
  if (tie.movedAt === null) return false;
  return source !== 'cloud' || now >= tie.movedAt + MOVED_DAYS * DAY_MS;
}

/** When it stops lending because the vendor's cloud was not reached; `null`: never. */
export function overdueFrom({ maxOfflineDays, tie }: License): Instant | null {
  if (maxOfflineDays === null || tie.checkedAt === null) return null;
  return plus(tie.checkedAt, maxOfflineDays * DAY_MS);
}

function isOverdue(license: License, now: Instant): boolean {
  const from = overdueFrom(license);
  return (from !== null && now >= from) || license.tie.assurance?.doubt?.stopsLending === true;
}

export function isUsable(license: License, now: Instant): boolean {
  const state = licenseState(license, now);
  return state === 'active' || state === 'in_grace';
}

function graceEnd(license: License, validUntil: Instant): Instant {
  return license.allowGracePeriod ? plus(validUntil, license.graceHours * HOUR_MS) : validUntil;
}

/** When it ends: with its validity, and once that is over, with its grace. `null`: never. */
export function endOf(license: License, now: Instant): Instant | null {
  const { validUntil } = license;
  return validUntil === null || now < validUntil ? validUntil : graceEnd(license, validUntil);
}

/** Cuts an instant to the end of validity and grace: nothing is held longer than that. */
export function withinValidity(license: License, at: Instant): Instant {
  return license.validUntil === null ? at : earlier(at, graceEnd(license, license.validUntil));
}

/** When a slot ends that is lent or renewed now. */
export function heartbeatEnd(license: License, now: Instant): Instant {
  return withinValidity(license, plus(now, license.timeoutMinutes * MINUTE_MS));
}

export function allowsBorrowing(license: License): boolean {
  return license.canBorrow && license.maxBorrowHours > 0;
}

/** The latest date for a borrow made now. Grace does not count. */
export function latestBorrowUntil(license: License, now: Instant): Instant {
  const longest = plus(now, license.maxBorrowHours * HOUR_MS);
  return license.validUntil === null ? longest : earlier(longest, license.validUntil);
}
