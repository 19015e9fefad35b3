import type { DatabaseSync } from 'node:sqlite';
import type { RecordedEvent } from '../../core/audit-event.ts';
import { instant } from '../../core/instant.ts';
import { SYSTEM_CHAIN } from '../engine/audit-chain.ts';
import { type Row, type RowValue, segmentFromRow } from '../engine/rows.ts';
import type { Answers, AuditLink, AuditSegment, ListAudit, ListLinks, WrittenLink } from '../query.ts';
import { readable } from './audit-ledger.ts';

type AuditQuery = ListAudit | ListLinks | { readonly kind: 'describe_audit' | 'list_segments' };

/** The log as it was written. Whatever somebody has made of it is told too, and never fails a list. */
export function readAudit(db: DatabaseSync, query: AuditQuery): Answers[AuditQuery['kind']] {
  switch (query.kind) {
    case 'list_audit':
      return listAudit(db, query);
    case 'describe_audit':
      return { lastSeq: (db.prepare(`SELECT max(${SEQ}) AS seq FROM audit_link`).get()?.seq as number) ?? 0 };
    case 'list_links':
      return listLinks(db, query);
    case 'list_segments':
      return db.prepare('SELECT * FROM audit_segment ORDER BY chain').all().map(describeSegment);
  }
}

const SEQ = `min(seq, ${Number.MAX_SAFE_INTEGER})`;
const COLUMNS = ['seq', 'chain', 'n', 'at'].map(readable).join(', ');

/** The table holds these by itself, unless somebody has changed the table. */
export const LINK_TYPES = `typeof(chain) || ' ' || typeof(n) || ' ' || typeof(at) || ' ' || typeof(events)
  || ' ' || typeof(mac) AS types`;

export function hasLinkTypes({ types }: Row): boolean {
  return types === 'integer integer integer text blob';
}

function listAudit(db: DatabaseSync, query: ListAudit): readonly AuditLink[] {
  const { chain, before, after, limit, eventLimit = Number.POSITIVE_INFINITY } = query;
  const rows = db
    .prepare(`SELECT ${COLUMNS}, events FROM audit_link
      WHERE (:chain IS NULL OR chain = :chain) AND audit_link.seq < :before AND audit_link.seq > :after
      ORDER BY audit_link.seq ${after === undefined ? 'DESC' : 'ASC'} LIMIT :limit`)
    .iterate({
      chain: chain === 'system' ? SYSTEM_CHAIN : chain,
      before: before ?? Number.MAX_SAFE_INTEGER,
      after: after ?? 0,
      limit,
    });
  const links: AuditLink[] = [];
  let events = 0;
  for (const row of rows) {
    const link = { ...placeOf(row), events: readEvents(row.events) ?? [UNREADABLE] };
    links.push(link);
    events += link.events.length;
    if (events >= eventLimit) break;
  }
  return links;
}

const UNREADABLE: RecordedEvent = { kind: 'unreadable' };

function listLinks(db: DatabaseSync, { after, upTo, limit }: ListLinks): readonly WrittenLink[] {
  const rows = db
    .prepare(`SELECT ${COLUMNS}, events, mac FROM audit_link
      WHERE audit_link.seq > ? AND audit_link.seq <= ? ORDER BY audit_link.seq LIMIT ?`)
    .all(after, upTo, limit);
  return rows.map((row) => ({ ...placeOf(row), events: writtenEvents(row.events), mac: hex(row.mac) }));
}

function placeOf(row: Row): Pick<AuditLink, 'seq' | 'chain' | 'n' | 'at'> {
  const [seq, chain, n, at] = [row.seq, row.chain, row.n, row.at].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return { seq, chain, n, at: instant(Math.abs(at) <= LAST_DATE_MS ? at : 0) };
}

/** What a date can be. A link that says more is told as one of 1970. */
const LAST_DATE_MS = 8.64e15;

/** `null`: this was not written here. */
function readEvents(stored: RowValue | undefined): readonly RecordedEvent[] | null {
  if (typeof stored !== 'string') return null;
  try {
    const events: unknown = JSON.parse(stored);
    return Array.isArray(events) && events.every(isEvent) ? events : null;
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is RecordedEvent {
  return typeof (value as { kind?: unknown } | null)?.kind === 'string';
}

/** Byte for byte; what would be no line of an export is told in hex. */
function writtenEvents(stored: RowValue | undefined): string {
  if (typeof stored === 'string' && !stored.includes('\n') && readEvents(stored) !== null) return stored;
  return JSON.stringify([{ kind: 'unreadable', hex: hex(stored) }]);
}

function describeSegment(row: Row): AuditSegment {
  return {
    ...segmentFromRow(row),
    firstMac: hex(row.first_mac),
    lastMac: hex(row.last_mac),
    totals: JSON.parse(row.totals as string),
    mac: hex(row.mac),
  };
}

function hex(value: RowValue | undefined): string {
  return Buffer.from(value instanceof Uint8Array ? value : String(value)).toString('hex');
}
