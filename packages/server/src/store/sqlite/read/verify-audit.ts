import type { DatabaseSync } from 'node:sqlite';
import {
  anchorMac,
  type ChainHead,
  isSameMac,
  SYSTEM_CHAIN,
  sumHeads,
} from '../../engine/audit/audit-chain.ts';
import { ChainWalk, type LinkRow, ProblemList, querySegments } from '../../engine/audit/chain-walk.ts';
import { type FindMac, SignatureCheck, type VerifyingKeys } from '../../engine/audit/signature-check.ts';
import { readable } from '../../engine/sql.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { AuditVerdict } from '../../query.ts';
import { answerQuery, findRow, prepare, readPragma } from '../wire/read-rows.ts';
import { listHeads } from '../write/audit-ledger.ts';
import { hasLinkTypes, LINK_TYPES } from './read-audit.ts';

/** Walks every chain from its first link to the head that stands in the license's row, as of one moment. */
export function verifyAudit(db: DatabaseSync, keys: VerifyingKeys): AuditVerdict {
  db.exec('BEGIN');
  try {
    return verifySnapshot(db, keys);
  } finally {
    db.exec('ROLLBACK');
  }
}

/** The same within the caller's transaction. */
export function verifySnapshot(db: DatabaseSync, { audit: key, identity }: VerifyingKeys): AuditVerdict {
  const heads = listHeads(db);
  const segments = answerQuery(db, querySegments());
  const signatures = new SignatureCheck({ identity, heads, segments });
  const problems = new ProblemList();
  findOrphans(db, heads, problems);
  let links = 0;
  let events = 0;
  let thinned = 0;
  for (const [chain, head] of heads) {
    const segment = segments.get(chain) ?? null;
    const walk = new ChainWalk({ key, chain, segment, problems });
    walkChain(db, chain, walk, chain === SYSTEM_CHAIN ? signatures : null);
    walk.end(head);
    links += walk.links;
    events += walk.events;
    thinned += segment?.segment.links ?? 0;
  }
  checkAnchor(db, key, heads, problems);
  checkTable(db, problems);
  const { found } = problems;
  return { ok: found.length === 0, chains: heads.size, links, events, thinned, problems: found };
}

function walkChain(
  db: DatabaseSync,
  chain: number,
  walk: ChainWalk,
  signatures: SignatureCheck | null,
): void {
  const findLink = db.prepare('SELECT mac FROM audit_link WHERE chain = ? AND n = ?');
  const findMac: FindMac = (...place) => findLink.get(...place)?.mac as Uint8Array | undefined;
  const numbers = ['seq', 'n', 'at'].map((name) => readable(`audit_link.${name}`, name));
  const columns = `${numbers.join(', ')}, events, mac, ${LINK_TYPES}`;
  const rows = prepare(db, `SELECT ${columns} FROM audit_link WHERE chain = ? ORDER BY audit_link.n`);
  for (const row of rows.iterate(chain) as Iterable<LinkRow & { readonly types: string }>) {
    if (!hasLinkTypes(row)) {
      walk.stepOver(row.n);
      continue;
    }
    walk.step(row);
    for (const problem of signatures?.check(row.events, findMac) ?? []) walk.tell(row.n, problem);
  }
}

function findOrphans(db: DatabaseSync, heads: ReadonlyMap<number, ChainHead>, problems: ProblemList): void {
  const column = readable('chain');
  const chains = prepare(db, `SELECT ${column} FROM audit_link UNION SELECT ${column} FROM audit_segment`);
  for (const { chain } of chains.iterate() as Iterable<Pick<LinkRow, 'chain'>>) {
    if (!heads.has(chain)) problems.tell(chain, 0, 'There are links of a license that does not exist.');
  }
}

/** Checks what no single chain can show: that it ends where the server left it, and that none is missing. */
function checkAnchor(
  db: DatabaseSync,
  key: Uint8Array,
  heads: ReadonlyMap<number, ChainHead>,
  problems: ProblemList,
): void {
  const server = findRow<Pick<RowOf<'server'>, 'audit_anchor'>>(db, 'SELECT audit_anchor FROM server');
  const anchor = server?.audit_anchor ?? null;
  if (anchor !== null && isSameMac(anchor, anchorMac(key, sumHeads(key, heads)))) return;
  const problem =
    anchor === null
      ? 'The anchor of the chains is missing.'
      : 'The chains do not end where the server left them: a tail was cut off, a license was removed ' +
        'or inserted, or the anchor was changed.';
  problems.tell(null, 0, problem);
}

/** Chains are walked by the index, lists and exports are not, so a link must be in both. */
function checkTable(db: DatabaseSync, problems: ProblemList): void {
  const found = readPragma(db, "integrity_check('audit_link')");
  if (found !== 'ok') problems.tell(null, 0, `The table of links is inconsistent: ${found}.`);
}
