import type { SQLOutputValue } from 'node:sqlite';
import type { ErrorCode } from '@berth/protocol/errors';
import { WHOLE_LICENSE } from '../../core/consumption.ts';
import type { Measured } from '../../core/decision.ts';
import type { FeatureSlot } from '../../core/feature-slot.ts';
import { type Instant, instant } from '../../core/instant.ts';
import { type License, type LicenseSource, licenseId } from '../../core/license.ts';
import type { Registration } from '../../core/registration.ts';
import { NO_RULES, orNoRules, type Rules } from '../../core/rules.ts';
import type { Denial, RememberedAnswer, Report } from '../../core/view.ts';
import type { BacklogRecord, UsageRecord } from '../query.ts';
import type { Segment } from './audit-chain.ts';

/** As the driver hands it out. Rows never leave this folder. */
export type Row = Record<string, SQLOutputValue>;

export function instantOrNull(value: SQLOutputValue | undefined): Instant | null {
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

export function registrationFromRow(row: Row): Registration {
  return {
    user: row.user as string,
    host: {
      hostname: row.hostname as string | null,
      address: row.address as string | null,
      info: row.info as string | null,
    },
    registeredAt: instant(row.registered_at as number),
    endsAt: instant(row.ends_at as number),
    borrowedUntil: instantOrNull(row.borrowed_until),
  };
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

export function isReportOf(report: Row, meter: Row): boolean {
  return report.license_id === meter.license_id && report.feature === meter.feature;
}

export function backlogFromRow(row: Row, reportRows: readonly Row[]): BacklogRecord {
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

export function segmentFromRow(row: Row): Segment {
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
