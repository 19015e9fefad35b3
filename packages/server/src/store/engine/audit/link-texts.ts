import type { RecordedEvent } from '../../../core/nouns/audit-event.ts';
import { instant } from '../../../core/nouns/instant.ts';
import type { AuditLink, AuditSegment, WrittenLink } from '../../query.ts';
import { type Row, type RowValue, segmentFromRow } from '../rows.ts';
import type { RowOf } from '../tables.ts';

const UNREADABLE: RecordedEvent = { kind: 'unreadable' };

/** A link for people to read. One that was tampered with is shown too, and never fails a list. */
export function auditLinkFromRow(row: Row): AuditLink {
  return { ...placeOf(row), events: readEvents(row.events) ?? [UNREADABLE] };
}

/** The first links, up to the one that reaches this many events. */
export class LinkList {
  readonly links: AuditLink[] = [];
  readonly #eventLimit: number;
  #events = 0;

  constructor(eventLimit = Number.POSITIVE_INFINITY) {
    this.#eventLimit = eventLimit;
  }

  get isFull(): boolean {
    return this.#events >= this.#eventLimit;
  }

  add(row: Row): void {
    if (this.isFull) return;
    const link = auditLinkFromRow(row);
    this.links.push(link);
    this.#events += link.events.length;
  }
}

/** A link with its MAC, for an export. */
export function writtenLinkFromRow(row: Row): WrittenLink {
  return { ...placeOf(row), events: writtenEvents(row.events), mac: hex(row.mac) };
}

export function describeSegment(row: RowOf<'audit_segment'>): AuditSegment {
  return {
    ...segmentFromRow(row),
    firstMac: hex(row.first_mac),
    lastMac: hex(row.last_mac),
    totals: JSON.parse(row.totals),
    mac: hex(row.mac),
  };
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

/** The latest possible date. A link with a later one is shown with a date in 1970. */
const LAST_DATE_MS = 8.64e15;

/** `null`: the server did not write this. */
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

/** Byte for byte; what cannot be a line of an export is written in hex. */
function writtenEvents(stored: RowValue | undefined): string {
  if (typeof stored === 'string' && !stored.includes('\n') && readEvents(stored) !== null) return stored;
  return JSON.stringify([{ kind: 'unreadable', hex: hex(stored) }]);
}

function hex(value: RowValue | undefined): string {
  return Buffer.from(value instanceof Uint8Array ? value : String(value)).toString('hex');
}
