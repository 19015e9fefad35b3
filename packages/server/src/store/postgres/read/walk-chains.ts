import { type ChainHead, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import {
  ChainWalk,
  type LinkRow,
  type ProblemList,
  type StoredSegment,
} from '../../engine/audit/chain-walk.ts';
import { type NamedHead, SignatureCheck, type VerifyingKeys } from '../../engine/audit/signature-check.ts';
import { readable } from '../../engine/sql.ts';
import type { Ask } from '../wire/ask.ts';
import { pageOf } from './read-audit.ts';

/** A chain as the row of its license, or of the server, knows it. */
export interface KnownChain {
  readonly head: ChainHead;
  readonly anchor: Uint8Array | null;
}

/** What all parts of a verification look at. */
export interface Inspection {
  readonly ask: Ask;
  readonly keys: VerifyingKeys;
  readonly chains: ReadonlyMap<number, KnownChain>;
  readonly segments: ReadonlyMap<number, StoredSegment>;
  readonly problems: ProblemList;
  /** Cancels it. */
  readonly signal: AbortSignal;
}

export interface Walks {
  readonly byChain: ReadonlyMap<number, ChainWalk>;
  /** How many links were found, including those of no chain. */
  readonly seen: number;
}

/** Steps over all links, page by page. They come chain by chain, orphans among them. */
export async function walkChains(inspection: Inspection): Promise<Walks> {
  const { ask, keys, chains, segments, signal } = inspection;
  const byChain = new Map([...chains.keys()].map((chain) => [chain, beginWalk(inspection, chain)]));
  const heads = new Map([...chains].map(([chain, { head }]) => [chain, head]));
  const signatures = new SignatureCheck({ identity: keys.identity, heads, segments });
  const orphans = new Orphans(inspection);
  let seen = 0;
  for await (const rows of listPages(ask)) {
    signal.throwIfAborted();
    seen += rows.length;
    for (const row of rows) {
      const walk = byChain.get(row.chain);
      if (walk === undefined) orphans.tell(row.chain);
      else if (!isLink(row)) walk.stepOver(row.n);
      else {
        walk.step(row);
        if (row.chain === SYSTEM_CHAIN) await checkSignatures(ask, signatures, walk, row);
      }
    }
  }
  return { byChain, seen };
}

function beginWalk({ keys, segments, problems }: Inspection, chain: number): ChainWalk {
  return new ChainWalk({ key: keys.audit, chain, segment: segments.get(chain) ?? null, problems });
}

/** Links of licenses that do not exist. Each license is reported once. */
class Orphans {
  readonly #inspection: Inspection;
  #last: number | null | undefined;

  constructor(inspection: Inspection) {
    this.#inspection = inspection;
    const { chains, segments } = inspection;
    for (const chain of segments.keys()) if (!chains.has(chain)) this.#tell(chain);
  }

  /** Links come chain by chain. `null`: somebody has changed the table, too. */
  tell(chain: number | null): void {
    const isSegmentTold = chain !== null && this.#inspection.segments.has(chain);
    if (chain !== this.#last && !isSegmentTold) this.#tell(chain);
    this.#last = chain;
  }

  #tell(chain: number | null): void {
    this.#inspection.problems.tell(chain, 0, 'There are links of a license that does not exist.');
  }
}

const PAGE_LINKS = 1000;

/** The end of a page, as texts: tampered numbers may be larger than JavaScript can hold. */
const PLACE = 'audit_link.chain::text AS chain_text, audit_link.n::text AS n_text';
const NUMBERS = ['chain', 'n', 'seq', 'at'].map((column) => readable(`audit_link.${column}`, column));

function pageQuery(where: string): string {
  const links = `SELECT ${NUMBERS.join(', ')}, events, mac, ${PLACE}, audit_link.chain AS raw_chain,
      audit_link.n AS raw_n
    FROM audit_link ${where} ORDER BY audit_link.chain, audit_link.n LIMIT ${PAGE_LINKS}`;
  return pageOf(links, 'raw_chain, raw_n');
}

/** A link that was tampered with may hold anything. */
type FoundRow = LinkRow & { readonly chain_text: string; readonly n_text: string };

const FIRST_PAGE = pageQuery('');
const NEXT_PAGE = pageQuery('WHERE (chain, n) > ($1::text::bigint, $2::text::bigint)');

async function* listPages(ask: Ask): AsyncGenerator<readonly FoundRow[]> {
  let rows = await ask<FoundRow>(FIRST_PAGE);
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    yield rows;
    rows = await ask<FoundRow>(NEXT_PAGE, [last.chain_text, last.n_text]);
  }
}

/** The table guarantees these types, unless somebody has changed the table. */
function isLink({ n, at, events, mac }: FoundRow): boolean {
  const areNumbers = typeof n === 'number' && typeof at === 'number';
  return areNumbers && typeof events === 'string' && mac instanceof Uint8Array;
}

async function checkSignatures(
  ask: Ask,
  signatures: SignatureCheck,
  walk: ChainWalk,
  row: LinkRow,
): Promise<void> {
  const text = row.events;
  const macs = await findMacs(ask, signatures.listNeeded(text));
  const findMac = (chain: number, n: number) => macs.get(`${chain} ${n}`);
  for (const problem of signatures.check(text, findMac)) walk.tell(row.n, problem);
}

const FIND_MACS = `SELECT audit_link.chain, audit_link.n, mac FROM audit_link
  JOIN json_to_recordset($1::text::json) AS named (chain bigint, n bigint)
    ON audit_link.chain = named.chain AND audit_link.n = named.n`;

async function findMacs(ask: Ask, named: readonly NamedHead[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const places = named
    .filter(([chain, n]) => Number.isSafeInteger(chain) && Number.isSafeInteger(n))
    .map(([chain, n]) => ({ chain, n }));
  if (places.length === 0) return new Map();
  const rows = await ask<LinkRow>(FIND_MACS, [JSON.stringify(places)]);
  return new Map(rows.map(({ chain, n, mac }) => [`${chain} ${n}`, mac]));
}
