import { createHash, sign } from 'node:crypto';
import { RequestError } from '@berth/protocol/request-error';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { Instant } from '../../core/nouns/instant.ts';
import type { AuditSegment, AuditVerdict, WrittenLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { type IdentityKey, readIdentityKey } from '../identity/identity-key.ts';
import { type Dates, readMoment } from './search-audit.ts';

export const EXPORT_FORMAT = 'berth-audit-export';
export const EXPORT_VERSION = 1;

/** How many links are in memory at once. A link that lists all heads may be large. */
const LINKS_PER_PAGE = 200;

/** What is signed: the SHA-256 of all bytes before the last line. */
export function exportSeal(sha256: string): Buffer {
  return Buffer.from(`${EXPORT_FORMAT} ${EXPORT_VERSION}\n${sha256}\n`);
}

interface ExportOptions {
  readonly hardwareId: string;
  /** Only links that were written then; without both, all. */
  readonly dates?: Dates;
  /** The client has disconnected. */
  readonly signal: AbortSignal;
  /** It was read to its end, has failed, or was cancelled. */
  readonly onEnd: () => void;
}

interface Extent {
  readonly hardwareId: string;
  readonly key: IdentityKey;
  readonly exportedAt: string;
  /** The first link. */
  readonly from: number;
  /** Links written during the export are left to the next one. */
  readonly to: number;
}

/**
 * The log, one line per link in the order they were written. The first read can fail before anything
 * is sent; a later failure ends the stream without the last line.
 */
export async function exportAudit(
  store: Store,
  { hardwareId, dates = {}, signal, onEnd }: ExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const key = await readIdentityKey(store);
  const { lastSeq } = await store.read({ kind: 'describe_audit' });
  const { now } = await store.keepClock();
  const since = readMoment(dates, 'since', now);
  const until = readMoment(dates, 'until', now);
  if (since !== null && until !== null && since >= until) {
    throw new RequestError('validation_error', '"since" must be before "until".', { field: 'since' });
  }
  const from = since === null ? 1 : await findFirst(store, since, lastSeq);
  const to = until === null ? lastSeq : (await findFirst(store, until, lastSeq)) - 1;
  const extent = { hardwareId, key, exportedAt: formatTimestamp(now), from, to };
  const cancelled = new AbortController();
  const lines = writeLines(store, extent, AbortSignal.any([signal, cancelled.signal]));
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await lines.next();
        if (done !== true) return controller.enqueue(value);
      } catch (error) {
        onEnd();
        throw error;
      }
      onEnd();
      controller.close();
    },
    async cancel() {
      onEnd();
      cancelled.abort();
      await lines.return();
    },
  });
}

async function* writeLines(
  store: Store,
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const hash = createHash('sha256');
  for await (const text of writeContent(store, extent, signal)) {
    const bytes = Buffer.from(text);
    hash.update(bytes);
    yield bytes;
  }
  const sha256 = hash.digest('hex');
  const signature = sign(null, exportSeal(sha256), extent.key.privateKey).toString('base64');
  yield Buffer.from(line({ type: 'signature', sha256, signature }));
}

/**
 * Totals come last, so that links that are thinned out during the export are among the links or in the
 * totals, or both.
 */
async function* writeContent(
  store: Store,
  extent: Extent,
  signal: AbortSignal,
): AsyncGenerator<string, void, void> {
  yield line({
    type: 'header',
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    hardware_id: extent.hardwareId,
    identity_key: extent.key.publicKey,
    exported_at: extent.exportedAt,
    from: extent.from,
    to: extent.to,
  });
  let after = extent.from - 1;
  for (;;) {
    signal.throwIfAborted();
    const page = { after, upTo: extent.to, limit: LINKS_PER_PAGE };
    const links = await store.read({ kind: 'list_links', ...page });
    if (links.length === 0) break;
    yield links.map(linkLine).join('');
    after = links.at(-1)?.seq ?? extent.to;
  }
  for (const segment of await store.read({ kind: 'list_segments' })) yield segmentLine(segment);
  yield verdictLine(await store.read({ kind: 'verify_audit' }, signal));
}

/**
 * The number of the first link that was written at or after an instant, by halves; one more than the last if
 * there is none. A clock that was reset has written some links twice: one of them is the first then.
 */
async function findFirst(store: Store, at: Instant, lastSeq: number): Promise<number> {
  let [low, high] = [1, lastSeq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [link] = await store.read({ kind: 'list_links', after: middle - 1, upTo: lastSeq, limit: 1 });
    if (link !== undefined && link.at < at) low = link.seq + 1;
    else high = middle;
  }
  return low;
}

/** The signature shows who wrote the export; only the server knows whether the log was intact. */
function verdictLine({ ok, problems }: AuditVerdict): string {
  return line({ type: 'verdict', ok, problems });
}

function line(facts: object): string {
  return `${JSON.stringify(facts)}\n`;
}

/** The events are exported byte for byte, because the MAC covers these bytes. */
function linkLine({ events, mac, at, ...link }: WrittenLink): string {
  const head = JSON.stringify({ type: 'link', ...link, at: formatTimestamp(at), mac });
  return `${head.slice(0, -1)},"events":${events}}\n`;
}

function segmentLine(segment: AuditSegment): string {
  return line({
    type: 'segment',
    chain: segment.chain,
    first_n: segment.firstN,
    last_n: segment.lastN,
    first_at: formatTimestamp(segment.firstAt),
    last_at: formatTimestamp(segment.lastAt),
    first_mac: segment.firstMac,
    last_mac: segment.lastMac,
    links: segment.links,
    events: segment.events,
    totals: segment.totals,
    mac: segment.mac,
  });
}
