import {
  type AddressRange,
  addressFromKey,
  addressKey,
  formatAddress,
  parseAddress,
  rangeKeys,
} from '@berth/protocol/address-range';
import type { ErrorCode } from '@berth/protocol/errors';
import type { OneTimePassword } from '../../core/access/one-time-password.ts';
import type { Role } from '../../core/access/role.ts';
import type { Token, TokenKind, TokenRestriction } from '../../core/access/token.ts';
import type { AuditPosition } from '../../core/nouns/audit-position.ts';
import type { AuditSegment } from '../../core/nouns/audit-segment.ts';
import { WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import type { EndedBorrow } from '../../core/nouns/ended-borrow.ts';
import type { FeatureSlot } from '../../core/nouns/feature-slot.ts';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import { type License, type LicenseSource, licenseId } from '../../core/nouns/license.ts';
import type { Registration } from '../../core/nouns/registration.ts';
import { foldCase } from '../../core/nouns/user-name.ts';
import type { Measured } from '../../core/outcome.ts';
import { NO_RULES, orNoRules, type Rules } from '../../core/rules/rules.ts';
import type { Denial, PlaceDenial, RememberedAnswer, Report } from '../../core/view.ts';
import type { AccountRecord, BacklogRecord, ListRegistrations, UsageRecord } from '../query.ts';

export type RowValue = null | number | bigint | string | Uint8Array;

/** As a driver hands it out: both hand out the same. Rows never leave the stores. */
export type Row = Record<string, RowValue>;

export function instantOrNull(value: RowValue | undefined): Instant | null {
  return typeof value === 'number' ? instant(value) : null;
}

export function licenseFromRow(row: Row): License {
  return JSON.parse(row.facts as string) as License;
}

/** Of the one row about the server. */
export function rulesFromRow(row: Row | undefined): Rules {
  const text = row?.rules ?? null;
  return text === null ? NO_RULES : orNoRules(JSON.parse(text as string) as Rules);
}

/** Of the one row about the server, too. */
export function cursorFromRow(row: Row | undefined): AuditPosition | null {
  if (row === undefined || row.webhook_seq === null) return null;
  return { seq: row.webhook_seq as number, index: row.webhook_index as number };
}

/** The same question with users as the store knows them, by the one row about the server. */
export function withListedIdentity(query: ListRegistrations, server: Row | undefined): ListRegistrations {
  if (server?.ignores_case !== 1) return query;
  const { user, after } = query;
  return {
    ...query,
    user: user === null ? null : foldCase(user),
    after: after === null ? null : { ...after, user: foldCase(after.user) },
  };
}

export function registrationFromRow(row: Row): Registration {
  return {
    user: row.user as string,
    ...(row.spelling == null ? {} : { spelling: row.spelling as string }),
    host: {
      hostname: row.hostname as string | null,
      address: row.address as string | null,
      info: row.info as string | null,
    },
    origin: originFromKey(row.origin as string | null),
    credential: row.credential as string | null,
    registeredAt: instant(row.registered_at as number),
    endsAt: instant(row.ends_at as number),
    borrowedUntil: instantOrNull(row.borrowed_until),
  };
}

/** A borrow that has ended, of the license itself or of a feature. */
export function endedBorrowFromRow(row: Row): EndedBorrow {
  const { endsAt: _, ...slot } = registrationFromRow({ ...row, ends_at: row.borrowed_until as number });
  return { ...slot, feature: row.feature as string, borrowedUntil: instant(row.borrowed_until as number) };
}

/**
 * Addresses are kept in a form that sorts, so that an index finds all of a range. Every heartbeat asks for
 * both directions, mostly of an address that was there before.
 */
export const originToKey = remembering((origin) => {
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

/** Between which two all addresses of a range lie; `null`: wherever. */
export function originKeys(range: AddressRange | undefined) {
  return range === undefined ? { first: null, last: null } : rangeKeys(range);
}

export function denialFromRow(row: Row): Denial {
  return {
    user: row.user as string,
    feature: row.feature as string,
    code: row.code as ErrorCode,
    deniedAt: instant(row.denied_at as number),
    repeated: row.repeated as number,
  };
}

export function placeDenialFromRow(row: Row): PlaceDenial {
  return {
    place: row.place as string,
    code: row.code as ErrorCode,
    deniedAt: instant(row.denied_at as number),
    recorded: row.recorded as number,
    repeated: row.repeated as number,
  };
}

export function featureSlotFromRow(row: Row): FeatureSlot {
  return {
    feature: row.feature as string,
    user: row.user as string,
    registeredAt: instant(row.registered_at as number),
    endsAt: instant(row.ends_at as number),
    borrowedUntil: instantOrNull(row.borrowed_until),
  };
}

export function answerFromRow(row: Row): RememberedAnswer {
  return {
    operation: row.operation as string,
    user: row.user as string,
    key: row.key as string,
    bodyHash: row.body_hash as string,
    answeredAt: instant(row.answered_at as number),
    outcome: JSON.parse(row.outcome as string) as Measured,
  };
}

export function usageFromRow(row: Row): UsageRecord {
  return {
    licenseId: licenseId(row.license_id as number),
    licenseKey: row.license_key as string,
    product: row.product as string,
    isRemoved: row.removed_at !== null,
    feature: row.feature === WHOLE_LICENSE ? null : (row.feature as string),
    consumed: row.consumed as number,
  };
}

/** One record per meter, with the reports of the same license and feature, in their order. */
export function backlogFromRows(meters: readonly Row[], reports: readonly Row[]): BacklogRecord[] {
  const nameOf = (row: Row) => `${row.license_id} ${row.feature}`;
  const byMeter = Map.groupBy(reports, nameOf);
  return meters.map((row) => backlogFromRow(row, byMeter.get(nameOf(row)) ?? []));
}

function backlogFromRow(row: Row, reportRows: readonly Row[]): BacklogRecord {
  const reports = reportRows.map(reportFromRow).map(({ feature: _, ...report }) => report);
  return {
    licenseId: licenseId(row.license_id as number),
    product: row.product as string,
    source: row.source as LicenseSource,
    isRemoved: row.removed_at !== null,
    feature: row.feature === WHOLE_LICENSE ? null : (row.feature as string),
    pending: row.pending as number,
    reported: row.reported as number,
    underWay: reports.find(({ uncertainAt }) => uncertainAt === null) ?? null,
    uncertain: reports.filter(({ uncertainAt }) => uncertainAt !== null),
  };
}

export function reportFromRow(row: Row): Report {
  return {
    id: row.id as string,
    feature: row.feature as string,
    amount: row.amount as number,
    cutAt: instant(row.cut_at as number),
    uncertainAt: instantOrNull(row.uncertain_at),
  };
}

export function segmentFromRow(row: Row): AuditSegment {
  return {
    chain: row.chain as number,
    firstN: row.first_n as number,
    lastN: row.last_n as number,
    firstMac: row.first_mac as Uint8Array,
    lastMac: row.last_mac as Uint8Array,
    firstAt: instant(row.first_at as number),
    lastAt: instant(row.last_at as number),
    links: row.links as number,
    events: row.events as number,
    totals: row.totals as string,
  };
}

export function accountFromRow(row: Row): AccountRecord {
  return {
    name: row.name as string,
    role: row.role as Role,
    passwordHash: row.password_hash as string,
    oneTime: oneTimeFromRow(row),
    createdAt: instant(row.created_at as number),
  };
}

export function oneTimeFromRow(row: Row): OneTimePassword | null {
  const madeAt = instantOrNull(row.one_time_at);
  return madeAt === null ? null : { madeAt, isUsed: row.one_time_used === 1 };
}

export function tokenFromRow(row: Row): Token {
  return {
    id: row.id as string,
    kind: row.kind as TokenKind,
    account: row.account as string | null,
    name: row.name as string | null,
    role: row.role_now as Role,
    issuedAt: instant(row.issued_at as number),
    usedAt: instant(row.used_at as number),
    isUsed: row.is_used === 1,
    expiresAt: instantOrNull(row.expires_at),
    restriction: row.restriction as TokenRestriction | null,
  };
}
