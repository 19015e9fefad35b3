import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { instant } from '../../core/instant.ts';
import type { Answers, AuditSegment, ListLinks, WrittenLink } from '../query.ts';
import { type Row, segmentFromRow } from './rows.ts';

type AuditQuery = ListLinks | { readonly kind: 'describe_audit' | 'list_segments' };

/** The log as it was written, for whoever takes it elsewhere. */
export function readAudit(db: DatabaseSync, query: AuditQuery): Answers[AuditQuery['kind']] {
  switch (query.kind) {
    case 'describe_audit':
      return { lastSeq: (db.prepare('SELECT max(seq) AS seq FROM audit_link').get()?.seq as number) ?? 0 };
    case 'list_links':
      return listLinks(db, query);
    case 'list_segments':
      return db.prepare('SELECT * FROM audit_segment ORDER BY chain').all().map(describeSegment);
  }
}

function listLinks(db: DatabaseSync, { after, upTo, limit }: ListLinks): readonly WrittenLink[] {
  const rows = db
    .prepare('SELECT * FROM audit_link WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?')
    .all(after, upTo, limit);
  return rows.map((row) => ({
    seq: row.seq as number,
    chain: row.chain as number,
    n: row.n as number,
    at: instant(row.at as number),
    events: row.events as string,
    mac: hex(row.mac),
  }));
}

function describeSegment(row: Row): AuditSegment {
  return {
    ...segmentFromRow(row),
    firstMac: hex(row.first_mac),
    lastMac: hex(row.last_mac),
    totals: JSON.parse(row.totals as string),
    mac: hex(row.mac),
  };
}

function hex(value: SQLOutputValue | undefined): string {
  return Buffer.from(value as Uint8Array).toString('hex');
}
