import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { instant } from '../../core/instant.ts';
import {
  anchorMac,
  type ChainHead,
  EMPTY_HEAD,
  isSameMac,
  linkMac,
  type Segment,
  SYSTEM_CHAIN,
  segmentMac,
  sumHeads,
} from '../engine/audit-chain.ts';
import { type Row, segmentFromRow } from '../engine/rows.ts';
import type { AuditProblem, AuditVerdict } from '../query.ts';
import { listHeads, readable } from './audit-ledger.ts';
import { hasLinkTypes, LINK_TYPES } from './read-audit.ts';
import { SignatureCheck } from './verify-signed-heads.ts';

/** More than this is not told apart: the log is broken, and the first problems say where. */
const MAX_PROBLEMS = 100;

/** Every link of a log may be broken: what is not told is not kept either. */
class ProblemList {
  readonly told: AuditProblem[] = [];

  tell(chain: number | null, n: number, problem: string): void {
    if (this.told.length < MAX_PROBLEMS) this.told.push({ chain, n, problem });
  }
}

export interface VerifyingKeys {
  readonly audit: Uint8Array;
  /** The private key of the server, in DER form. */
  readonly identity: Uint8Array;
}

/** Walks every chain from its first link to the head that stands in the license's row, as of one moment. */
export function verifyAudit(db: DatabaseSync, keys: VerifyingKeys): AuditVerdict {
  db.exec('BEGIN');
  try {
    return verifySnapshot(db, keys);
  } finally {
    db.exec('ROLLBACK');
  }
}

/** The same within a transaction that somebody else has begun. */
export function verifySnapshot(db: DatabaseSync, { audit: key, identity }: VerifyingKeys): AuditVerdict {
  const heads = listHeads(db);
  const segments = listSegments(db);
  const signatures = new SignatureCheck(db, { publicKey: toPublicKey(identity), heads, segments });
  const problems = new ProblemList();
  findOrphans(db, heads, problems);
  let links = 0;
  let events = 0;
  let thinned = 0;
  for (const [chain, head] of heads) {
    const walk = new ChainWalk(key, chain, segments.get(chain) ?? null, problems);
    walk.run(db, chain === SYSTEM_CHAIN ? signatures : null);
    walk.end(head);
    links += walk.links;
    events += walk.events;
    thinned += segments.get(chain)?.segment.links ?? 0;
  }
  checkAnchor(db, key, heads, problems);
  checkTable(db, problems);
  const { told } = problems;
  return { ok: told.length === 0, chains: heads.size, links, events, thinned, problems: told };
}

function toPublicKey(identity: Uint8Array) {
  return createPublicKey(createPrivateKey({ key: Buffer.from(identity), format: 'der', type: 'pkcs8' }));
}

interface StoredSegment {
  readonly segment: Segment;
  readonly mac: Uint8Array;
}

function listSegments(db: DatabaseSync): ReadonlyMap<number, StoredSegment> {
  const numbers = ['first_n', 'last_n', 'first_at', 'last_at', 'links', 'events'].map(readable);
  const rows = db
    .prepare(`SELECT chain, first_mac, last_mac, totals, mac, ${numbers.join(', ')} FROM audit_segment`)
    .all();
  return new Map(
    rows.map((row) => [row.chain as number, { segment: segmentFromRow(row), mac: row.mac as Uint8Array }]),
  );
}

function findOrphans(db: DatabaseSync, heads: ReadonlyMap<number, ChainHead>, problems: ProblemList): void {
  const column = readable('chain');
  const chains = db.prepare(`SELECT ${column} FROM audit_link UNION SELECT ${column} FROM audit_segment`);
  for (const row of chains.iterate()) {
    const chain = row.chain as number;
    if (!heads.has(chain)) problems.tell(chain, 0, 'There are links of a license that does not exist.');
  }
}

/** What no single chain can tell: that it ends where the server has left it, and that none is missing. */
function checkAnchor(
  db: DatabaseSync,
  key: Uint8Array,
  heads: ReadonlyMap<number, ChainHead>,
  problems: ProblemList,
): void {
  const anchor = db.prepare('SELECT audit_anchor FROM server').get()?.audit_anchor as Uint8Array | null;
  if (anchor !== null && isSameMac(anchor, anchorMac(key, sumHeads(key, heads)))) return;
  const problem =
    anchor === null
      ? 'The anchor of the chains is missing.'
      : 'The chains do not end where the server has left them: a tail was cut off, a license was taken out ' +
        'or put in, or the anchor was changed.';
  problems.tell(null, 0, problem);
}

/** The chains are walked by the index, lists and exports are not: a link must not be in one of them only. */
function checkTable(db: DatabaseSync, problems: ProblemList): void {
  const row = db.prepare("PRAGMA integrity_check('audit_link')").get();
  const found = Object.values(row ?? {})[0];
  if (found !== 'ok') problems.tell(null, 0, `The table of the links is not sound: ${found}.`);
}

/** One chain, from its first link or from what is left of its first links. */
class ChainWalk {
  links = 0;
  events = 0;
  readonly #key: Uint8Array;
  readonly #chain: number;
  readonly #problems: ProblemList;
  #last: ChainHead = EMPTY_HEAD;
  #lastSeq = 0;

  constructor(key: Uint8Array, chain: number, stored: StoredSegment | null, problems: ProblemList) {
    this.#key = key;
    this.#chain = chain;
    this.#problems = problems;
    if (stored === null) return;
    const { segment, mac } = stored;
    const isKept = segment.firstN === 1 && isSameMac(mac, segmentMac(key, segment));
    if (!isKept) this.#tell(segment.lastN, 'The totals of the links that were thinned out were changed.');
    this.#last = { n: segment.lastN, mac: segment.lastMac };
  }

  run(db: DatabaseSync, signatures: SignatureCheck | null): void {
    const columns = `${readable('seq')}, ${readable('n')}, ${readable('at')}, events, mac, ${LINK_TYPES}`;
    const rows = db.prepare(`SELECT ${columns} FROM audit_link WHERE chain = ? ORDER BY audit_link.n`);
    for (const row of rows.iterate(this.#chain)) {
      if (!hasLinkTypes(row)) {
        this.#tell(row.n as number, 'The link does not hold what a link holds.');
        this.links += 1;
        continue;
      }
      this.#step(row);
      for (const problem of signatures?.check(row.events as string) ?? []) {
        this.#tell(row.n as number, problem);
      }
    }
  }

  end(head: ChainHead): void {
    if (this.#last.n === head.n && isSameMac(this.#last.mac, head.mac)) return;
    this.#tell(head.n, `The chain ends at ${this.#last.n}, but its head is ${head.n}.`);
  }

  #step(row: Row): void {
    const [n, seq] = [row.n as number, row.seq as number];
    const problem = this.#checkLink(n, row) ?? (this.#isInPlace(seq) ? null : 'The link was moved.');
    if (problem !== null) this.#tell(n, problem);
    this.#last = { n, mac: row.mac as Uint8Array };
    this.#lastSeq = seq;
    this.links += 1;
    this.events += countEvents(row.events as string);
  }

  /** Nothing is listed from the largest number on. */
  #isInPlace(seq: number): boolean {
    return seq > this.#lastSeq && seq < Number.MAX_SAFE_INTEGER;
  }

  #checkLink(n: number, row: Row): string | null {
    const previous = this.#last;
    if (n <= previous.n) return 'The link was put in.';
    if (n !== previous.n + 1) return `Links ${previous.n + 1} to ${n - 1} are missing.`;
    const link = { chain: this.#chain, n, at: instant(row.at as number), events: row.events as string };
    const mac = linkMac(this.#key, previous.mac, link);
    return isSameMac(mac, row.mac as Uint8Array) ? null : 'The link was changed, or the one before it was.';
  }

  #tell(n: number, problem: string): void {
    this.#problems.tell(this.#chain, n, problem);
  }
}

/** A link that was tampered with may hold anything. */
function countEvents(text: string): number {
  try {
    return (JSON.parse(text) as unknown[]).length;
  } catch {
    return 0;
  }
}
