import { headDigest, isSameMac, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import { ProblemList, querySegments } from '../../engine/audit/chain-walk.ts';
import type { VerifyingKeys } from '../../engine/audit/signature-check.ts';
import { type Count, countOf, readable } from '../../engine/sql.ts';
import type { PostgresRowOf } from '../../engine/tables.ts';
import type { AuditVerdict } from '../../query.ts';
import { type Ask, answerQuery } from '../wire/ask.ts';
import { chainsMac } from '../write/audit-ledger.ts';
import { type Inspection, type KnownChain, type Walks, walkChains } from './walk-chains.ts';

/**
 * Walks every chain from its first link to the head that stands in the license's row. Callers must make
 * sure that all reads see the same moment.
 */
export async function verifyAudit(ask: Ask, keys: VerifyingKeys, signal: AbortSignal): Promise<AuditVerdict> {
  const [chains, segments] = await Promise.all([listChains(ask), answerQuery(ask, querySegments())]);
  const problems = new ProblemList();
  const inspection = { ask, keys, chains, segments, problems, signal };
  const walks = await walkChains(inspection);
  for (const [chain, known] of chains) checkEnd(inspection, walks, chain, known);
  await checkSet(inspection);
  await checkNumbers(inspection);
  await checkTable(inspection, walks.seen);
  const { found } = problems;
  return { ok: found.length === 0, chains: chains.size, ...sumUp(inspection, walks), problems: found };
}

type ChainRow = Pick<PostgresRowOf<'license'>, 'audit_n' | 'audit_mac' | 'audit_anchor'> & {
  readonly chain: number;
};

async function listChains(ask: Ask): Promise<ReadonlyMap<number, KnownChain>> {
  const columns = `${readable('audit_n')}, audit_mac, audit_anchor`;
  const rows = await ask<ChainRow>(`SELECT ${SYSTEM_CHAIN}::bigint AS chain, ${columns} FROM server
    UNION ALL SELECT ${readable('id')}, ${columns} FROM license ORDER BY 1`);
  return new Map(
    rows.map(({ chain, audit_n: n, audit_mac: mac, audit_anchor: anchor }) => [
      chain,
      { head: { n, mac }, anchor },
    ]),
  );
}

/** Checks what a chain cannot show by itself: that it ends where the server left it. */
function checkEnd({ keys, problems }: Inspection, walks: Walks, chain: number, known: KnownChain): void {
  const { head, anchor } = known;
  walks.byChain.get(chain)?.end(head);
  if (isSameMac(anchor, headDigest(keys.audit, chain, head))) return;
  const problem =
    anchor === null
      ? 'The anchor of the chain is missing.'
      : 'The chain does not end where the server left it: a tail was cut off, or its anchor was changed.';
  problems.tell(chain, head.n, problem);
}

/** Checks what no single chain can show: that no chain is missing or extra. */
async function checkSet({ ask, keys, chains, problems }: Inspection): Promise<void> {
  const licenses = [...chains.keys()].filter((chain) => chain !== SYSTEM_CHAIN);
  const [row] = await ask<PostgresRowOf<'server'>>('SELECT audit_chains FROM server');
  const stored = row?.audit_chains ?? null;
  if (isSameMac(stored, chainsMac(keys.audit, licenses))) return;
  const problem =
    stored === null
      ? 'The anchor of the set of chains is missing.'
      : 'The set of chains was changed: a license was removed or inserted, or the anchor was changed.';
  problems.tell(null, 0, problem);
}

/** Finds a number beyond the last one given: a reader that continues from it would miss links. */
async function checkNumbers({ ask, problems }: Inspection): Promise<void> {
  const [row] = await ask(`SELECT 1 FROM audit_link
    WHERE seq > coalesce((SELECT max(last_seq) FROM audit_order WHERE id = 1), 0) LIMIT 1`);
  if (row !== undefined) problems.tell(null, 0, 'Links have numbers that were never given.');
}

/** Makes the next query read the table itself. Not every engine knows all of these. */
const AVOID_INDEXES = `SELECT set_config(name, 'off', true) FROM pg_settings
  WHERE name IN ('enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan')`;

/** Chains are walked by the index, lists and exports are not, so a link must be in both. */
async function checkTable({ ask, problems }: Inspection, seen: number): Promise<void> {
  const [, [row]] = await Promise.all([
    ask(AVOID_INDEXES),
    ask<Count>('SELECT count(*) AS count FROM audit_link'),
  ] as const);
  const count = countOf(row);
  if (count === seen) return;
  problems.tell(
    null,
    0,
    `The table of links is inconsistent: ${seen} of ${count} links are in their chains.`,
  );
}

function sumUp(
  { segments, chains }: Inspection,
  { byChain }: Walks,
): Pick<AuditVerdict, 'links' | 'events' | 'thinned'> {
  let [links, events, thinned] = [0, 0, 0];
  for (const chain of chains.keys()) {
    const walk = byChain.get(chain);
    links += walk?.links ?? 0;
    events += walk?.events ?? 0;
    thinned += segments.get(chain)?.segment.links ?? 0;
  }
  return { links, events, thinned };
}
