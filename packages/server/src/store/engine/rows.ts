import {
  type AddressRange,
  addressFromKey,
  addressKey,
  formatAddress,
  parseAddress,
  rangeKeys,
} from '@berth/protocol/address-range';
import type { OneTimePassword } from '../../core/access/one-time-password.ts';
import type { ProductLimit } from '../../core/access/role.ts';
import type { SecondFactor } from '../../core/access/second-factor.ts';
import type { Token } from '../../core/access/token.ts';
import type { SystemChange } from '../../core/decision.ts';
import type { AuditPosition } from '../../core/nouns/audit-position.ts';
import type { AuditSegment } from '../../core/nouns/audit-segment.ts';
import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import type { EndedBorrow } from '../../core/nouns/ended-borrow.ts';
import type { FeatureSlot } from '../../core/nouns/feature-slot.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License, LicenseId, LicenseSource } from '../../core/nouns/license.ts';
import type { CountedAt, Registration } from '../../core/nouns/registration.ts';
import { foldCase } from '../../core/nouns/user-name.ts';
import type { Person } from '../../core/rules/groups.ts';
import type { Denial, PlaceDenial, RememberedAnswer, Report } from '../../core/view.ts';
import type { AccountRecord, TokenRecord } from '../access-record.ts';
import type {
  BacklogRecord,
  FollowerRecord,
  ListRegistrations,
  RequestRecord,
  StoreDescription,
  UsageRecord,
} from '../query.ts';
import type { RowOf } from './tables.ts';

export type RowValue = null | number | bigint | string | Uint8Array;

/** A row that may hold anything. Rows never leave the stores. */
export type Row = Readonly<Record<string, RowValue>>;

/** A token with the role that it has now. */
export type TokenRow = RowOf<'token'> &
  FactorRow & {
    readonly role_now: Token['role'];
    readonly products_now: string | null;
  };

export type SettingRow = RowOf<'setting'> & { readonly sealed: Uint8Array | null };

/** Of an account; a token may have none. */
type FactorRow = Pick<RowOf<'account'>, 'second_factor_step' | 'recovery_codes'>;

export function licenseFromRow(row: Pick<RowOf<'license'>, 'facts'>): License {
  return JSON.parse(row.facts) as License;
}

type ServerRow = RowOf<'server'>;

export function requestFromRow(row: RowOf<'offline_request'>): RequestRecord {
  const { id: requestId, product, license_key: licenseKey, made_at: madeAt } = row;
  return { requestId, request: row.request as RequestRecord['request'], product, licenseKey, madeAt };
}

export function cursorFromRow(row: RowOf<'follower'> | undefined): AuditPosition | null {
  return row === undefined ? null : { seq: row.seq, index: row.place };
}

export function followerFromRow(row: RowOf<'follower'> | undefined): FollowerRecord | null {
  return row === undefined ? null : { position: { seq: row.seq, index: row.place }, memory: row.memory };
}

export interface StoreRow extends Pick<ServerRow, 'identity' | 'hardware_id' | 'test_clock_ms'> {
  readonly licenses: number;
  readonly registrations: number;
  /** How many accounts have a one-time password. */
  readonly one_time: number;
}

export function storeFromRow(
  row: StoreRow,
): Omit<StoreDescription, 'kind' | 'engine' | 'host' | 'schemaVersion'> {
  const { identity, hardware_id: hardwareId, licenses, registrations, one_time, test_clock_ms } = row;
  const marks = { isOneTimePasswordInUse: one_time !== 0, hasTestClock: test_clock_ms !== null };
  return { identity, hardwareId, licenses, registrations, ...marks };
}

/** The same question with users as the store knows them. */
export function withListedIdentity(
  query: ListRegistrations,
  server: Pick<ServerRow, 'ignores_case'> | undefined,
): ListRegistrations {
  if (server?.ignores_case !== 1) return query;
  const { user, after } = query;
  return {
    ...query,
    user: user === null ? null : foldCase(user),
    after: after === null ? null : { ...after, user: foldCase(after.user) },
  };
}

/** For every command, like `registrationRow`: writing out all fields is faster than copying some. */
export function registrationFromRow(row: RowOf<'registration'>): Registration {
  const registration: Registration = {
    user: row.user,
    host: { hostname: row.hostname, address: row.address, info: row.info },
    origin: originFromKey(row.origin),
    credential: row.credential,
    registeredAt: row.registered_at,
    endsAt: row.ends_at,
    borrowedUntil: row.borrowed_until,
    programs: row.programs,
  };
  if (row.spelling === null && row.counted_at === null) return registration;
  return {
    ...registration,
    ...(row.spelling !== null && { spelling: row.spelling }),
    ...(row.counted_at !== null && { countedAt: JSON.parse(row.counted_at) as CountedAt }),
  };
}

/** Who holds a slot, as the rules count it; see `countedPerson`. */
export function personFromRow(row: HolderRow): Person {
  const { user, hostname, counted_at: counted } = row;
  if (counted !== null) return { user, ...(JSON.parse(counted) as CountedAt) };
  return { user, hostname, address: originFromKey(row.origin) };
}

/** As much of a slot as the rules look at. */
export type HolderRow = Pick<RowOf<'registration'>, 'user' | 'hostname' | 'origin' | 'counted_at'>;

export function registrationRow(licenseId: LicenseId, slot: Registration): RowOf<'registration'> {
  return {
    license_id: licenseId,
    user: slot.user,
    hostname: slot.host.hostname,
    address: slot.host.address,
    info: slot.host.info,
    registered_at: slot.registeredAt,
    ends_at: slot.endsAt,
    borrowed_until: slot.borrowedUntil,
    programs: slot.programs,
    origin: originToKey(slot.origin),
    counted_at: slot.countedAt === undefined ? null : JSON.stringify(slot.countedAt),
    credential: slot.credential,
    spelling: slot.spelling ?? null,
  };
}

/** A borrow that has ended, of the license itself or of a feature. */
export function endedBorrowFromRow(row: RowOf<'ended_borrow'>): EndedBorrow {
  const { endsAt: _, ...slot } = registrationFromRow({ ...row, ends_at: row.borrowed_until });
  return { ...slot, feature: row.feature, borrowedUntil: row.borrowed_until };
}

export function endedBorrowRow(
  licenseId: LicenseId,
  borrow: EndedBorrow,
  endedAt: Instant,
): RowOf<'ended_borrow'> {
  const { feature, borrowedUntil } = borrow;
  const { ends_at: _, ...row } = registrationRow(licenseId, { ...borrow, endsAt: borrowedUntil });
  return { ...row, feature, borrowed_until: borrowedUntil, ended_at: endedAt };
}

/**
 * Addresses are stored in a form that sorts, so that an index finds all of a range. Every heartbeat needs
 * both directions, mostly for an address seen before.
 */
const originToKey = remembering((origin) => {
  const address = parseAddress(origin);
  return address === null ? null : addressKey(address);
});

const originFromKey = remembering((key) => formatAddress(addressFromKey(key)));

const REMEMBERED_ADDRESSES = 10_000;

function remembering(translate: (text: string) => string | null) {
  const known = new Map<string, string | null>();
  return (text: string | null): string | null => {
    if (text === null) return null;
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size >= REMEMBERED_ADDRESSES) known.clear();
    const translated = translate(text);
    known.set(text, translated);
    return translated;
  };
}

/** The first and the last key of a range; `null`: any. */
export function originKeys(range: AddressRange | undefined) {
  return range === undefined ? { first: null, last: null } : rangeKeys(range);
}

export function denialFromRow(row: RowOf<'denial'>): Denial {
  const { user, feature, code, denied_at: deniedAt, repeated } = row;
  return { user, feature, code, deniedAt, repeated };
}

export function denialRow(licenseId: LicenseId, { deniedAt, ...denial }: Denial): RowOf<'denial'> {
  return { license_id: licenseId, ...denial, denied_at: deniedAt };
}

export function placeDenialFromRow(row: RowOf<'place_denial'>): PlaceDenial {
  const { place, code, denied_at: deniedAt, recorded, repeated } = row;
  return { place, code, deniedAt, recorded, repeated };
}

export function placeDenialRow(
  licenseId: LicenseId,
  { deniedAt, ...denial }: PlaceDenial,
): RowOf<'place_denial'> {
  return { license_id: licenseId, ...denial, denied_at: deniedAt };
}

export function featureSlotFromRow(row: RowOf<'feature_slot'>): FeatureSlot {
  const { feature, user, registered_at, ends_at, borrowed_until, programs } = row;
  const times = { registeredAt: registered_at, endsAt: ends_at, borrowedUntil: borrowed_until };
  return { feature, user, ...times, programs };
}

export function featureSlotRow(licenseId: LicenseId, slot: FeatureSlot): RowOf<'feature_slot'> {
  const { user, feature, registeredAt, endsAt, borrowedUntil, programs } = slot;
  return {
    license_id: licenseId,
    user,
    feature,
    registered_at: registeredAt,
    ends_at: endsAt,
    borrowed_until: borrowedUntil,
    programs,
  };
}

export function answerFromRow(row: RowOf<'remembered_answer'>): RememberedAnswer {
  const { operation, user, key, body_hash: bodyHash, answered_at: answeredAt, outcome } = row;
  return { operation, user, key, bodyHash, answeredAt, outcome: JSON.parse(outcome) };
}

export function answerRow(licenseId: LicenseId, answer: RememberedAnswer): RowOf<'remembered_answer'> {
  const { operation, user, key, bodyHash, answeredAt, outcome } = answer;
  return {
    license_id: licenseId,
    operation,
    user,
    key,
    body_hash: bodyHash,
    answered_at: answeredAt,
    outcome: JSON.stringify(outcome),
  };
}

interface LicensePart {
  readonly license_id: LicenseId;
  readonly feature: string;
  readonly product: string;
  readonly removed_at: Instant | null;
}

export type UsageRow = LicensePart & { readonly license_key: string; readonly consumed: number };

export type BacklogRow = LicensePart & RowOf<'meter'> & { readonly source: LicenseSource };

function partFromRow({ license_id, feature, product, removed_at }: LicensePart) {
  return {
    licenseId: license_id,
    product,
    isRemoved: removed_at !== null,
    feature: feature === WHOLE_LICENSE ? null : feature,
  };
}

export function usageFromRow(row: UsageRow): UsageRecord {
  return { ...partFromRow(row), licenseKey: row.license_key, consumed: row.consumed };
}

/** One record per meter, with the reports of the same license and feature, in their order. */
export function backlogFromRows(
  meters: readonly BacklogRow[],
  reports: readonly RowOf<'report'>[],
): BacklogRecord[] {
  const nameOf = (row: Pick<RowOf<'report'>, 'license_id' | 'feature'>) => `${row.license_id} ${row.feature}`;
  const byMeter = Map.groupBy(reports, nameOf);
  return meters.map((row) => backlogFromRow(row, byMeter.get(nameOf(row)) ?? []));
}

function backlogFromRow(row: BacklogRow, reportRows: readonly RowOf<'report'>[]): BacklogRecord {
  const reports = reportRows.map(reportFromRow).map(({ feature: _, ...report }) => report);
  return {
    ...partFromRow(row),
    source: row.source,
    pending: row.pending,
    reported: row.reported,
    underWay: reports.find(({ uncertainAt }) => uncertainAt === null) ?? null,
    uncertain: reports.filter(({ uncertainAt }) => uncertainAt !== null),
  };
}

export function reportFromRow(row: RowOf<'report'>): Report {
  const { id, feature, amount, cut_at: cutAt, uncertain_at: uncertainAt } = row;
  return { id, feature, amount, cutAt, uncertainAt };
}

export function segmentFromRow(row: RowOf<'audit_segment'>): AuditSegment {
  return {
    chain: row.chain,
    firstN: row.first_n,
    lastN: row.last_n,
    firstMac: row.first_mac,
    lastMac: row.last_mac,
    firstAt: row.first_at,
    lastAt: row.last_at,
    links: row.links,
    events: row.events,
    totals: row.totals,
  };
}

export function segmentRow(segment: AuditSegment, mac: Uint8Array): RowOf<'audit_segment'> {
  return {
    chain: segment.chain,
    first_n: segment.firstN,
    last_n: segment.lastN,
    first_mac: segment.firstMac,
    last_mac: segment.lastMac,
    first_at: segment.firstAt,
    last_at: segment.lastAt,
    links: segment.links,
    events: segment.events,
    totals: segment.totals,
    mac,
  };
}

export function accountFromRow(row: RowOf<'account'>): AccountRecord {
  const { name, role, password_hash: passwordHash, created_at: createdAt } = row;
  const [products, secondFactor] = [productsFromText(row.products), secondFactorFromRow(row)];
  return { name, role, products, passwordHash, oneTime: oneTimeFromRow(row), secondFactor, createdAt };
}

function secondFactorFromRow(row: FactorRow): SecondFactor | null {
  const { second_factor_step: usedStep, recovery_codes: codes } = row;
  return usedStep === null ? null : { usedStep, recoveryCodes: JSON.parse(codes) };
}

function productsFromText(text: string | null): ProductLimit {
  return text === null ? null : JSON.parse(text);
}

export function textOfProducts(products: ProductLimit): string | null {
  return products === null ? null : JSON.stringify(products);
}

function oneTimeFromRow(row: RowOf<'account'>): OneTimePassword | null {
  return row.one_time_at === null ? null : { madeAt: row.one_time_at, isUsed: row.one_time_used === 1 };
}

export function tokenRecordFromRow(row: TokenRow, now: Instant): TokenRecord {
  return { token: tokenFromRow(row), secondFactor: secondFactorFromRow(row), now };
}

export function tokenFromRow(row: TokenRow): Token {
  return {
    id: row.id,
    kind: row.kind,
    account: row.account,
    name: row.name,
    role: row.role_now,
    products: productsFromText(row.products_now),
    issuedAt: row.issued_at,
    usedAt: row.used_at,
    isUsed: row.is_used === 1,
    expiresAt: row.expires_at,
    restriction: row.restriction,
  };
}

type NewToken = Extract<SystemChange, { kind: 'put_token' }>['token'];

export function tokenRow(tokenHash: string, token: NewToken): RowOf<'token'> {
  return {
    token_hash: tokenHash,
    id: token.id,
    kind: token.kind,
    account: token.account,
    name: token.name,
    role: token.role,
    products: textOfProducts(token.products),
    issued_at: token.issuedAt,
    used_at: token.usedAt,
    expires_at: token.expiresAt,
    restriction: token.restriction,
    is_used: 0,
  };
}
