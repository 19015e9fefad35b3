import { MOMENT_FORMS, parseMoment } from '@berth/protocol/moment';
import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import { EVENT_KINDS } from '../../core/nouns/event-kinds.ts';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import type { AuditLink, AuditPage, SearchAudit } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';

/** What to list, as it was asked for; nothing means everything. */
export interface AuditFilter {
  readonly chain?: 'system' | undefined;
  readonly licenseId?: number | undefined;
  /** The id of a license, or a product. */
  readonly license?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly user?: string | undefined;
  /** A part of a name. */
  readonly search?: string | undefined;
  /** Kinds of events, with commas between them. */
  readonly kind?: string | undefined;
  readonly before?: number | undefined;
  /** A page ends with the link that reaches this many events. */
  readonly limit?: number | undefined;
}

/** A page of links with the events that match. */
export type FoundEvents = Pick<AuditPage, 'links' | 'next'>;

const MAX_EVENTS = 1000;

/** How many links one read searches: some 20 ms, for which other readers wait. */
const SCANNED_AT_ONCE = 50_000;
/** How many links one request searches: about half a second. The rest is for the next page. */
const MAX_SCANNED = 1_000_000;
/** How many links one read returns: one may hold a whole commit. */
const LINKS_AT_ONCE = 100;
/**
 * How many reads one request makes. A part of a name such as "slot" is in every link, and in no name: each
 * read then ends with links that do not match.
 */
const MAX_READS = 200;

const MAX_KINDS = 5;

/** A page of events that match, the newest first. `signal`: the client has disconnected. */
export async function searchAudit(
  store: Store,
  filter: AuditFilter,
  signal: AbortSignal,
): Promise<FoundEvents> {
  const query = await readFilter(store, filter);
  const most = Math.min(filter.limit ?? MAX_EVENTS, MAX_EVENTS);
  const links: AuditLink[] = [];
  let events = 0;
  let next = query.before;
  let searched = 0;
  for (let reads = 0; reads < MAX_READS && searched < MAX_SCANNED && !signal.aborted; reads++) {
    const page = await store.read({ ...query, before: next, links: LINKS_AT_ONCE });
    for (const link of page.links) {
      links.push(link);
      events += link.events.length;
      if (events >= most) return { links, next: link.seq > 1 ? link.seq : null };
    }
    next = page.next;
    searched += page.searched;
    if (next === null) break;
  }
  return { links, next };
}

async function readFilter(store: Store, filter: AuditFilter): Promise<SearchAudit> {
  const hasDates = filter.since !== undefined || filter.until !== undefined;
  const now = hasDates ? (await store.keepClock()).now : instant(0);
  return {
    kind: 'search_audit',
    chains: await readChains(store, filter),
    since: readMoment(filter, 'since', now),
    until: readMoment(filter, 'until', now),
    user: filter.user ?? null,
    search: filter.search,
    kinds: readKinds(filter.kind),
    before: filter.before ?? null,
    scanned: SCANNED_AT_ONCE,
    links: LINKS_AT_ONCE,
  };
}

export type Dates = Pick<AuditFilter, 'since' | 'until'>;

export function readMoment(filter: Dates, field: keyof Dates, now: Instant): Instant | null {
  const text = filter[field];
  if (text === undefined) return null;
  const millis = parseMoment(text, field, now);
  if (millis !== undefined) return instant(millis);
  throw new RequestError('validation_error', `"${field}" must be ${MOMENT_FORMS}.`, { field });
}

function readKinds(text: string | undefined): readonly string[] | null {
  if (text === undefined) return null;
  const kinds = text.split(',').map((kind) => kind.trim());
  const field = { field: 'kind' };
  const unknown = kinds.find((kind) => !(EVENT_KINDS as readonly string[]).includes(kind));
  if (unknown !== undefined) {
    const message = `"kind": there are no events "${unknown}".${suggest(unknown, EVENT_KINDS)}`;
    throw new RequestError('validation_error', `${message} docs/audit.md lists them.`, field);
  }
  if (kinds.length <= MAX_KINDS) return kinds;
  throw new RequestError('validation_error', `"kind" must not name more than ${MAX_KINDS} kinds.`, field);
}

async function readChains(store: Store, filter: AuditFilter): Promise<readonly number[] | null> {
  const { chain, licenseId, license } = filter;
  if ([chain, licenseId, license].filter((one) => one !== undefined).length > 1) {
    const message = 'Send one of "license", "license_id" and "chain".';
    throw new RequestError('validation_error', message, { field: 'license' });
  }
  if (chain === 'system') return [0];
  if (licenseId !== undefined) return [licenseId];
  if (license === undefined) return null;
  const held = await store.read({ kind: 'list_licenses', product: license });
  if (held.length > 0) return held.map((record) => record.license.id);
  if (/^[1-9]\d{0,14}$/.test(license)) return [Number(license)];
  throw new RequestError(
    'license_not_found',
    `This server has no license of the product "${license}". Name a license that was removed by its id.`,
  );
}
