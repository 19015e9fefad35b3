import type { RecordedEvent } from '../../../core/nouns/audit-event.ts';
import { foldCase } from '../../../core/nouns/user-name.ts';
import type { AuditLink, AuditPage, SearchAudit } from '../../query.ts';
import { createPartTest, hasPart, partValues } from '../part-of-name.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import type { Row, RowValue } from '../rows.ts';
import { inEach, readable } from '../sql.ts';
import type { RowOf } from '../tables.ts';
import { auditLinkFromRow } from './link-texts.ts';

/** Where a link stands. */
export const LINK_PLACE = ['seq', 'chain', 'n', 'at']
  .map((column) => readable(`audit_link.${column}`, column))
  .join(', ');

const FIND_TOP = `SELECT ${readable('max(seq)', 'seq')} FROM audit_link WHERE seq < :before`;

const STRPOS = { sqlite: 'instr', postgres: 'strpos' };

/**
 * The texts are only searched for quoted names here, which is fast; which events match is decided on what is
 * left. An index would cost every commit something, and a search is rare.
 */
const SEARCH = inEach((dialect) => {
  const has = (part: string) => `${STRPOS[dialect]}(events, CAST(${part} AS text)) > 0`;
  return `SELECT ${LINK_PLACE}, events FROM audit_link
    WHERE audit_link.seq < :before
      AND audit_link.seq > (SELECT max(seq) FROM audit_link WHERE seq < :before) - CAST(:scan AS bigint)
      AND (CAST(:since AS bigint) IS NULL OR audit_link.at >= :since)
      AND (CAST(:until AS bigint) IS NULL OR audit_link.at < :until)
      AND (CAST(:chain AS bigint) IS NULL OR chain = :chain
        OR ${STRPOS[dialect]}(CAST(:others AS text), ',' || chain || ',') > 0
        OR (chain = 0 AND ${has(`'"licenseId":'`)}))
      AND (CAST(:user AS text) IS NULL OR ${has(':user')} OR ${has(':folded')})
      AND (CAST(:partA AS text) IS NULL OR ${hasPart('events')})
      AND (CAST(:kindA AS text) IS NULL OR ${has(':kindA')} OR ${has(':kindB')} OR ${has(':kindC')}
        OR ${has(':kindD')} OR ${has(':kindE')})
    ORDER BY audit_link.seq DESC LIMIT :links`;
});

/** Searches a bounded part of the log, so that no search keeps other readers waiting. */
export function queryAuditSearch(query: SearchAudit): PreparedQuery<AuditPage> {
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

function searchValues(query: SearchAudit) {
  const { since, until, chains, user, search, kinds, scanned, links } = query;
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
    ...partValues(search === undefined ? null : JSON.stringify(search).slice(1, -1)),
    ...Object.fromEntries(needles),
  };
}

/** Leaves the events that match. */
function pickerOf({ chains, user, search, kinds }: SearchAudit, ignoresCase: boolean) {
  const isMentioned = search === undefined ? null : createPartTest(search);
  const names: readonly unknown[] = user === null ? [] : [user, ...(ignoresCase ? [foldCase(user)] : [])];
  return (link: AuditLink): AuditLink => {
    const isMeant = chains === null || chains.includes(link.chain);
    const matches = (event: RecordedEvent) => {
      const { user: who, account, by, hostname, origin, pattern, licenseId } = event as RecordedEvent & Named;
      if (!isMeant && !chains.includes(licenseId ?? 0)) return false;
      if (kinds !== null && !kinds.includes(event.kind)) return false;
      if (isMentioned !== null && ![who, account, by, hostname, origin, pattern].some(isMentioned))
        return false;
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
  readonly hostname?: unknown;
  readonly pattern?: unknown;
  readonly licenseId?: number;
}

function measurePage({ links: most, scanned }: SearchAudit, links: readonly AuditLink[], top: number) {
  const lowest = links.length < most ? top - scanned + 1 : (links.at(-1)?.seq ?? 0);
  return { next: lowest > 1 ? lowest : null, searched: top - Math.max(lowest, 1) + 1 };
}
