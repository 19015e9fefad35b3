import { SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import { LinkList } from '../../engine/audit/link-texts.ts';
import { LINK_PLACE } from '../../engine/audit/search-audit.ts';
import type { AuditLink, ListAudit } from '../../query.ts';
import type { PreparedOnce } from '../wire/read-rows.ts';

/** The table guarantees these types, unless somebody has changed the table. */
export const LINK_TYPES = `typeof(chain) || ' ' || typeof(n) || ' ' || typeof(at) || ' ' || typeof(events)
  || ' ' || typeof(mac) AS types`;

export function hasLinkTypes({ types }: { readonly types: string }): boolean {
  return types === 'integer integer integer text blob';
}

/** The log as written. Links that were tampered with are listed too, and never fail the list. */
export function listAudit(prepared: PreparedOnce, query: ListAudit): readonly AuditLink[] {
  const { chain, before, after, limit, eventLimit } = query;
  const statement = prepared.get(
    `SELECT ${LINK_PLACE}, events FROM audit_link
     WHERE (:chain IS NULL OR chain = :chain) AND audit_link.seq < :before AND audit_link.seq > :after
     ORDER BY audit_link.seq ${after === undefined ? 'DESC' : 'ASC'} LIMIT :limit`,
  );
  const rows = statement.iterate({
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
