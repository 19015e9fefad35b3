import { type HistoryReport, historyTable } from '@berth/protocol/api/history-tables';
import { formatCsv } from '@berth/protocol/csv';
import type { MessageFile } from '../core/notify/message.ts';
import { bucketStart, DAY_MS, HOUR_MS, type Instant, plus } from '../core/nouns/instant.ts';
import { toWire } from '../http/reply/to-wire.ts';
import type { Reports } from '../services/events/compose-digest.ts';
import type { Store } from '../store/store.ts';

/** Those with most rows are for the command line. */
const MAX_ROWS = 5000;

/** Most mail servers take ten megabytes, a third of it for the encoding. A longer report is left out. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;

/** By hours for a week; a month would be too long to be attached. */
const MAX_HOURLY_DAYS = 8;

/** The reports of a span as CSV, as the API and the command line write them. */
export async function writeReports(
  store: Store,
  span: { readonly since: Instant; readonly until: Instant },
): Promise<Reports> {
  const all = { ...span, licenseId: null };
  const people = { ...all, user: null, limit: MAX_ROWS };
  const days = Math.round((span.until - span.since) / DAY_MS);
  const stepMs = days > MAX_HOURLY_DAYS ? DAY_MS : HOUR_MS;
  const slots = await store.read({ kind: 'list_slot_history', ...all, feature: null, stepMs });
  const denials = await store.read({ kind: 'list_denial_history', ...people, feature: null, reason: null });
  // Users are kept by days in UTC: as many as the span has, from the nearest midnight.
  const since = bucketStart(plus(span.since, DAY_MS / 2), DAY_MS);
  const until = plus(since, days * DAY_MS);
  const users = await store.read({ kind: 'list_user_history', ...people, since, until });
  const files = [
    writeReport('slots', toWire({ series: slots })),
    writeReport('denials', toWire(denials)),
    writeReport('users', toWire(users)),
  ];
  const cut = [...(denials.leftOff === 0 ? [] : ['denials']), ...(users.leftOff === 0 ? [] : ['users'])].map(
    (report) => `The attached report ${report} has only its first ${MAX_ROWS} rows.`,
  );
  return attachAll(files, cut);
}

/** Without those that are too long, which it says. */
export function attachAll(files: readonly MessageFile[], remarks: readonly string[]): Reports {
  const isLong = ({ content }: MessageFile) => Buffer.byteLength(content) > MAX_FILE_BYTES;
  return {
    files: files.filter((file) => !isLong(file)),
    remarks: [...remarks, ...files.filter(isLong).map(({ name }) => `${name} is too long to be attached.`)],
  };
}

function writeReport(report: HistoryReport, answer: object): MessageFile {
  const { columns, rows } = historyTable(report, answer);
  return { name: `berth-${report}.csv`, content: formatCsv(columns, rows) };
}
