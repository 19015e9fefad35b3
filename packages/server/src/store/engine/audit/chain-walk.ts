import type { AuditSegment } from '../../../core/nouns/audit-segment.ts';
import type { AuditProblem } from '../../query.ts';
import { type PreparedQuery, prepareQuery } from '../prepared-query.ts';
import { segmentFromRow } from '../rows.ts';
import { readable } from '../sql.ts';
import type { RowOf } from '../tables.ts';
import { type ChainHead, EMPTY_HEAD, isSameMac, linkMac, segmentMac } from './audit-chain.ts';

/** Further problems are not listed: the log is broken, and the first ones show where. */
const MAX_PROBLEMS = 100;

/** Every link of a log may be broken, so problems beyond the limit are not stored. */
export class ProblemList {
  readonly found: AuditProblem[] = [];

  tell(chain: number | null, n: number, problem: string): void {
    if (this.found.length < MAX_PROBLEMS) this.found.push({ chain, n, problem });
  }
}

/** The totals of a chain with the MAC that is kept beside them. */
export interface StoredSegment {
  readonly segment: AuditSegment;
  readonly mac: Uint8Array;
}

const NUMBERS = ['chain', 'first_n', 'last_n', 'first_at', 'last_at', 'links', 'events'].map((name) =>
  readable(`audit_segment.${name}`, name),
);

/** Segments by their chains. */
export function querySegments(): PreparedQuery<ReadonlyMap<number, StoredSegment>> {
  const sql = `SELECT ${NUMBERS.join(', ')}, first_mac, last_mac, totals, mac FROM audit_segment
    ORDER BY audit_segment.chain`;
  return prepareQuery(sql, {}, (rows: readonly RowOf<'audit_segment'>[]) => {
    return new Map(rows.map((row) => [row.chain, { segment: segmentFromRow(row), mac: row.mac }]));
  });
}

/** A link whose columns hold what they should. */
export type LinkRow = RowOf<'audit_link'>;

/** What verifying one chain needs. */
interface WalkedChain {
  readonly key: Uint8Array;
  readonly chain: number;
  readonly segment: StoredSegment | null;
  readonly problems: ProblemList;
}

/** One chain, from its first link or from what is left of its first links. */
export class ChainWalk {
  links = 0;
  events = 0;
  readonly #walked: WalkedChain;
  #last: ChainHead = EMPTY_HEAD;
  #lastSeq = 0;

  constructor(walked: WalkedChain) {
    this.#walked = walked;
    if (walked.segment === null) return;
    const { segment, mac } = walked.segment;
    const isKept = segment.firstN === 1 && isSameMac(mac, segmentMac(walked.key, segment));
    if (!isKept) this.tell(segment.lastN, 'The totals of the links that were thinned out were changed.');
    this.#last = { n: segment.lastN, mac: segment.lastMac };
  }

  /** The next link. A store that numbers its links later has no `seq` for the newest ones yet. */
  step(row: LinkRow): void {
    const { n, seq } = row;
    const problem = this.#checkLink(row) ?? (this.#isInRightLane(seq) ? null : 'The link was moved.');
    if (problem !== null) this.tell(n, problem);
    this.#last = { n, mac: row.mac };
    this.#lastSeq = seq ?? Number.POSITIVE_INFINITY;
    this.links += 1;
    this.events += countEvents(row.events);
  }

  /** Counts something that is not a link. */
  stepOver(n: number): void {
    this.tell(n, 'The link is not in a valid form.');
    this.links += 1;
  }

  end(head: ChainHead): void {
    if (this.#last.n === head.n && isSameMac(this.#last.mac, head.mac)) return;
    this.tell(head.n, `The chain ends at ${this.#last.n}, but its head is ${head.n}.`);
  }

  tell(n: number, problem: string): void {
    this.#walked.problems.tell(this.#walked.chain, n, problem);
  }

  /** Lists never reach the largest number. */
  #isInRightLane(seq: number | null): boolean {
    return seq === null || (seq > this.#lastSeq && seq < Number.MAX_SAFE_INTEGER);
  }

  #checkLink({ n, at, events, mac: written }: LinkRow): string | null {
    const { key, chain } = this.#walked;
    const previous = this.#last;
    if (n <= previous.n) return 'The link was inserted.';
    if (n !== previous.n + 1) return `Links ${previous.n + 1} to ${n - 1} are missing.`;
    const mac = linkMac(key, previous.mac, { chain, n, at, events });
    return isSameMac(mac, written) ? null : 'The link was changed, or the one before it was.';
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
