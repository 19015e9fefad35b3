import { SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import { LinkList } from '../../engine/audit/link-texts.ts';
import { LINK_PLACE } from '../../engine/audit/search-audit.ts';
import type { Row } from '../../engine/rows.ts';
import type { AuditLink, ListAudit } from '../../query.ts';
import type { Ask } from '../wire/ask.ts';

/** A link may hold all that one commit has written, so pages are limited by size as well. */
const PAGE_BYTES = 1024 * 1024;

/**
 * The first page of these links, at least one. `found` is their number without the limit on the size, which
 * is known without reading the texts.
 */
export function pageOf(links: string, order: string): string {
  const size = 'octet_length(events)';
  return `SELECT * FROM (
      SELECT *, count(*) OVER () AS found,
        coalesce(sum(${size}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) - ${size}, 0) AS size_before
      FROM (${links}) AS link) AS sized
    WHERE size_before < ${PAGE_BYTES} ORDER BY ${order}`;
}

function listQuery(direction: 'ASC' | 'DESC'): string {
  const links = `SELECT ${LINK_PLACE}, events FROM audit_link
    WHERE ($1::bigint IS NULL OR chain = $1) AND audit_link.seq < $2 AND audit_link.seq > $3
    ORDER BY audit_link.seq ${direction} LIMIT $4`;
  return pageOf(links, `seq ${direction}`);
}

type PagedRow = Row & { readonly seq: number; readonly found: number };

const LIST_NEWEST = listQuery('DESC');
const LIST_OLDEST = listQuery('ASC');

export async function listAudit(ask: Ask, query: ListAudit): Promise<readonly AuditLink[]> {
  const chain = query.chain === 'system' ? SYSTEM_CHAIN : query.chain;
  const text = query.after === undefined ? LIST_NEWEST : LIST_OLDEST;
  let [before, after] = [query.before ?? Number.MAX_SAFE_INTEGER, query.after ?? 0];
  const list = new LinkList(query.eventLimit);
  for (;;) {
    const rows = await ask<PagedRow>(text, [chain, before, after, query.limit - list.links.length]);
    for (const row of rows) list.add(row);
    const last = rows.at(-1);
    if (list.isFull || last === undefined || rows.length === last.found) return list.links;
    if (query.after === undefined) before = last.seq;
    else after = last.seq;
  }
}
