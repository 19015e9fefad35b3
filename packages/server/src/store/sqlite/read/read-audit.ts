import type { DatabaseSync } from 'node:sqlite';
import { SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import { describeSegment, LinkList, writtenLinkFromRow } from '../../engine/audit/link-texts.ts';
import type { Row } from '../../engine/rows.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { Answers, AuditLink, ListAudit, ListLinks, WrittenLink } from '../../query.ts';
import { findRow, listRows } from '../wire/ask.ts';
import { readable } from '../write/audit-ledger.ts';

type AuditQuery = ListAudit | ListLinks | { readonly kind: 'describe_audit' | 'list_segments' };

/** The log as it was written. Whatever somebody has made of it is told too, and never fails a list. */
export function readAudit(db: DatabaseSync, query: AuditQuery): Answers[AuditQuery['kind']] {
  switch (query.kind) {
    case 'list_audit':
      return listAudit(db, query);
    case 'describe_audit':
      return { lastSeq: findRow<Pick<RowOf<'audit_link'>, 'seq'>>(db, LAST_SEQ)?.seq ?? 0 };
    case 'list_links':
      return listLinks(db, query);
    case 'list_segments':
      return listRows<RowOf<'audit_segment'>>(db, 'SELECT * FROM audit_segment ORDER BY chain').map(
        describeSegment,
      );
  }
}

const LAST_SEQ = `SELECT max(min(seq, ${Number.MAX_SAFE_INTEGER})) AS seq FROM audit_link`;
const COLUMNS = ['seq', 'chain', 'n', 'at'].map(readable).join(', ');

/** The table holds these by itself, unless somebody has changed the table. */
export const LINK_TYPES = `typeof(chain) || ' ' || typeof(n) || ' ' || typeof(at) || ' ' || typeof(events)
  || ' ' || typeof(mac) AS types`;

export function hasLinkTypes({ types }: { readonly types: string }): boolean {
  return types === 'integer integer integer text blob';
}

function listAudit(db: DatabaseSync, query: ListAudit): readonly AuditLink[] {
  const { chain, before, after, limit, eventLimit } = query;
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
  const list = new LinkList(eventLimit);
  for (const row of rows) {
    list.add(row);
    if (list.isFull) break;
  }
  return list.links;
}

function listLinks(db: DatabaseSync, { after, upTo, limit }: ListLinks): readonly WrittenLink[] {
  const sql = `SELECT ${COLUMNS}, events, mac FROM audit_link
    WHERE audit_link.seq > :after AND audit_link.seq <= :upTo ORDER BY audit_link.seq LIMIT :limit`;
  return listRows<Row>(db, sql, { after, upTo, limit }).map(writtenLinkFromRow);
}
