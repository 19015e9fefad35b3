import type { ChainHead } from '../../engine/audit/audit-chain.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import type { Connection } from '../wire/connection.ts';

/**
 * A link that was thinned out is not lost: its chain is longer, and has no other link with that number. The
 * system's chain is 0, and its head is in the server's row, which has the id 1.
 */
const COUNT = `SELECT count(*) AS count
  FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS known(chain, n, mac)
  LEFT JOIN license ON license.id = known.chain
  LEFT JOIN audit_link ON audit_link.chain = known.chain AND audit_link.n = known.n
  WHERE audit_link.mac <> known.mac
    OR coalesce(license.audit_n, (SELECT audit_n FROM server WHERE id = known.chain + 1), 0) < known.n`;

/** Counts the chains that lack a link, or have another one in its place. */
export async function countLost(
  connection: Connection,
  heads: ReadonlyMap<number, ChainHead>,
): Promise<number> {
  const chains = [...heads.keys()];
  const known = [...heads.values()];
  const values = [chains, known.map(({ n }) => n), known.map(({ mac }) => mac)];
  const [row] = await connection.query<Count>(COUNT, values);
  return countOf(row);
}
