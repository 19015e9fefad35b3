import { timingSafeEqual } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { instant } from '../../core/instant.ts';
import type { AuditProblem, AuditVerdict } from '../query.ts';
import { type ChainHead, EMPTY_HEAD, linkMac, SYSTEM_CHAIN } from './audit-chain.ts';
import type { Row } from './rows.ts';

/** More than this is not told apart: the log is broken, and the first problems say where. */
const MAX_PROBLEMS = 100;

/** Walks every chain from its first link to the head that stands in the license's row, as of one moment. */
export function verifyAudit(db: DatabaseSync, key: Uint8Array): AuditVerdict {
  db.exec('BEGIN');
  try {
    return verifySnapshot(db, key);
  } finally {
    db.exec('ROLLBACK');
  }
}

function verifySnapshot(db: DatabaseSync, key: Uint8Array): AuditVerdict {
  const heads = listHeads(db);
  const problems: AuditProblem[] = [...findOrphans(db, heads)];
  let links = 0;
  let events = 0;
  for (const [chain, head] of heads) {
    const walked = walkChain(db, key, chain, head);
    links += walked.links;
    events += walked.events;
    problems.push(...walked.problems);
  }
  return {
    ok: problems.length === 0,
    chains: heads.size,
    links,
    events,
    problems: problems.slice(0, MAX_PROBLEMS),
  };
}

function listHeads(db: DatabaseSync): Map<number, ChainHead> {
  const rows = db
    .prepare(`SELECT ${SYSTEM_CHAIN} AS chain, audit_n, audit_mac FROM server
      UNION ALL SELECT id, audit_n, audit_mac FROM license ORDER BY 1`)
    .all();
  return new Map(
    rows.map((row) => [row.chain as number, { n: row.audit_n as number, mac: row.audit_mac as Uint8Array }]),
  );
}

function findOrphans(db: DatabaseSync, heads: ReadonlyMap<number, ChainHead>): readonly AuditProblem[] {
  const chains = db.prepare('SELECT DISTINCT chain FROM audit_link').all();
  return chains
    .map((row) => row.chain as number)
    .filter((chain) => !heads.has(chain))
    .map((chain) => ({ chain, n: 0, problem: 'There are links of a license that does not exist.' }));
}

function walkChain(db: DatabaseSync, key: Uint8Array, chain: number, head: ChainHead) {
  const problems: AuditProblem[] = [];
  let last: ChainHead = EMPTY_HEAD;
  let events = 0;
  let links = 0;
  const rows = db
    .prepare('SELECT n, at, events, mac FROM audit_link WHERE chain = ? ORDER BY n')
    .iterate(chain);
  for (const row of rows) {
    const problem = checkLink(key, chain, last, row);
    if (problem !== null) problems.push({ chain, n: row.n as number, problem });
    last = { n: row.n as number, mac: row.mac as Uint8Array };
    links += 1;
    events += countEvents(row.events as string);
  }
  if (last.n !== head.n || !isSame(last.mac, head.mac)) {
    problems.push({ chain, n: head.n, problem: `The chain ends at ${last.n}, but its head is ${head.n}.` });
  }
  return { problems, links, events };
}

function checkLink(key: Uint8Array, chain: number, previous: ChainHead, row: Row): string | null {
  const n = row.n as number;
  if (n !== previous.n + 1) return `Links ${previous.n + 1} to ${n - 1} are missing.`;
  const link = { chain, n, at: instant(row.at as number), events: row.events as string };
  const mac = linkMac(key, previous.mac, link);
  return isSame(mac, row.mac as Uint8Array) ? null : 'The link was changed, or the one before it was.';
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A link that was tampered with may hold anything. */
function countEvents(text: string): number {
  try {
    return (JSON.parse(text) as unknown[]).length;
  } catch {
    return 0;
  }
}
