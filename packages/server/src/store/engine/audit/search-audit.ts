import type { RecordedEvent } from '../../../core/nouns/audit-event.ts';
import { foldCase } from '../../../core/nouns/user-name.ts';
import type { AuditLink, AuditPage, SearchAudit } from '../../query.ts';
import type { Asked } from '../asked.ts';
import type { Row, RowValue } from '../rows.ts';
import { readable } from '../sql.ts';
import type { RowOf } from '../tables.ts';
import { auditLinkFromRow } from './link-texts.ts';

/** Where a link stands. */
export const LINK_PLACE = ['seq', 'chain', 'n', 'at']
  .map((column) => readable(`audit_link.${column}`, column))
  .join(', ');

const FIND_TOP = `SELECT ${readable('max(seq)', 'seq')} FROM audit_link WHERE seq < :before`;

/**
 * The texts are only searched for quoted names here, which is fast; which events match is decided on what is
 * left. An index would cost every commit something, and a search is rare.
 */
const SEARCH = `SELECT ${LINK_PLACE}, events FROM audit_link
  WHERE audit_link.seq < :before
    AND audit_link.seq > (SELECT max(seq) FROM audit_link WHERE seq < :before) - :scan::bigint
    AND (:since::bigint IS NULL OR audit_link.at >= :since)
    AND (:until::bigint IS NULL OR audit_link.at < :until)
    AND (:chain::bigint IS NULL OR chain = :chain
      OR (:others::text IS NOT NULL AND strpos(:others::text, ',' || chain || ',') > 0)
      OR (chain = 0 AND strpos(events, '"licenseId":') > 0))
    AND (:user::text IS NULL OR strpos(events, :user::text) > 0 OR strpos(events, :folded::text) > 0)
    AND (:kindA::text IS NULL OR strpos(events, :kindA::text) > 0 OR strpos(events, :kindB::text) > 0
      OR strpos(events, :kindC::text) > 0 OR strpos(events, :kindD::text) > 0
      OR strpos(events, :kindE::text) > 0)
  ORDER BY audit_link.seq DESC LIMIT :links`;

/** Searches a bounded part of the log, so that no search keeps other readers waiting. */
export function askAuditSearch(query: SearchAudit): Asked<AuditPage> {
  const before = query.before ?? Number.MAX_SAFE_INTEGER;
  return {
    statements: [
      { sql: FIND_TOP, values: { before } },
      { sql: SEARCH, values: { before, ...searchValues(query) } },
      { sql: 'SELECT ignores_case FROM server', values: {} },
    ],
    answer: ([tops, rows, servers]) => {
      const [top] = tops as readonly RowOf<'audit_link'>[];
      const [server] = servers as readonly RowOf<'server'>[];
      const links = (rows as readonly Row[]).map(auditLinkFromRow);
      const pick = pickerOf(query, server?.ignores_case === 1);
      return {
        links: links.map(pick).filter(({ events }) => events.length > 0),
        ...measurePage(query, links, top?.seq ?? 0),
      };
    },
  };
}

function searchValues({ since, until, chains, user, kinds, scanned, links }: SearchAudit) {
  const needles = ['A', 'B', 'C', 'D', 'E'].map((letter, index): [string, RowValue] => {
    const kind = kinds?.[index];
    return [`kind${letter}`, kind === undefined ? null : `"kind":${JSON.stringify(kind)}`];
  });
  return {
    scan: scanned,
    links,
    since,
    until,
    chain: chains?.[0] ?? null,
    others: chains === null || chains.length < 2 ? null : `,${chains.join(',')},`,
    user: user === null ? null : JSON.stringify(user),
    folded: user === null || foldCase(user) === user ? null : JSON.stringify(foldCase(user)),
    ...Object.fromEntries(needles),
  };
}

/** Leaves the events that match. */
function pickerOf({ chains, user, kinds }: SearchAudit, ignoresCase: boolean) {
  const names: readonly unknown[] = user === null ? [] : [user, ...(ignoresCase ? [foldCase(user)] : [])];
  return (link: AuditLink): AuditLink => {
    const isMeant = chains === null || chains.includes(link.chain);
    const matches = (event: RecordedEvent) => {
      const { user: who, account, by, licenseId } = event as RecordedEvent & Named;
      if (!isMeant && !chains.includes(licenseId ?? 0)) return false;
      if (kinds !== null && !kinds.includes(event.kind)) return false;
      return user === null || [who, account, by].some((name) => names.includes(name));
    };
    return { ...link, events: link.events.filter(matches) };
  };
}

/** What an event may say of whom it is about. Events of the system may be about a license. */
interface Named {
  readonly user?: unknown;
  readonly account?: unknown;
  readonly by?: unknown;
  readonly licenseId?: number;
}

function measurePage({ links: most, scanned }: SearchAudit, links: readonly AuditLink[], top: number) {
  const lowest = links.length < most ? top - scanned + 1 : (links.at(-1)?.seq ?? 0);
  return { next: lowest > 1 ? lowest : null, searched: top - Math.max(lowest, 1) + 1 };
}
