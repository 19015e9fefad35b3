import { createHash, sign } from 'node:crypto';
import { formatTimestamp } from '@berth/protocol/timestamp';
import type { AuditSegment, AuditVerdict, WrittenLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { type IdentityKey, readIdentityKey } from '../identity/identity-key.ts';

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
  /** The client has disconnected. */
  readonly signal: AbortSignal;
  /** It was read to its end, has failed, or was cancelled. */
  readonly onEnd: () => void;
}

interface Extent {
  readonly hardwareId: string;
  readonly key: IdentityKey;
  readonly exportedAt: string;
  /** Links written during the export are left to the next one. */
  readonly lastSeq: number;
}

/**
 * The whole log, one line per link in the order they were written. The first read can fail before anything
 * is sent; a later failure ends the stream without the last line.
 */
export async function exportAudit(
  store: Store,
  { hardwareId, signal, onEnd }: ExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const key = await readIdentityKey(store);
  const { lastSeq } = await store.read({ kind: 'describe_audit' });
  const { now } = await store.keepClock();
  const extent = { hardwareId, key, exportedAt: formatTimestamp(now), lastSeq };
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
    from: 1,
    to: extent.lastSeq,
  });
  let after = 0;
  for (;;) {
    signal.throwIfAborted();
    const page = { after, upTo: extent.lastSeq, limit: LINKS_PER_PAGE };
    const links = await store.read({ kind: 'list_links', ...page });
    if (links.length === 0) break;
    yield links.map(linkLine).join('');
    after = links.at(-1)?.seq ?? extent.lastSeq;
  }
  for (const segment of await store.read({ kind: 'list_segments' })) yield segmentLine(segment);
  yield verdictLine(await store.read({ kind: 'verify_audit' }, signal));
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
