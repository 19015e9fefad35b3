import { instant } from '../../../core/nouns/instant.ts';
import { EMPTY_HEAD } from '../../engine/audit/audit-chain.ts';
import type { Batch } from '../../engine/batch.ts';
import { LoadedLicenses } from '../../engine/loaded-licenses.ts';
import type { Opened } from '../wire/transaction.ts';
import { AuditLedger } from './audit-ledger.ts';
import type { Decided } from './commit.ts';
import type { WriterMemory } from './memory.ts';

/** Everything that deciding works on, from the rows that a transaction has locked. */
export function prepareBatch(
  { keys, readWall, texts, masterKey, names }: WriterMemory,
  given: Pick<Decided, 'scope' | 'opened' | 'index' | 'set' | 'name'>,
): Decided {
  const { scope, opened, index, set } = given;
  const { server, licenses } = opened;
  const { byProduct, lastOrder, removed, rules, ignoresCase } = index;
  const wall = instant(readWall?.() ?? opened.wall);
  const isLocked = scope.licenses !== 'heads';
  const marks = [...(isLocked ? licenses : []), ...(server === null ? [] : [server])];
  const links = rowsOf(opened).reduce((sum, row) => sum + row.audit_n, 0);
  const state = isLocked ? null : { links, signedLinks: server?.audit_signed_links ?? null };
  if (server !== null) set.know('getServer', [], [server]);
  const batch = {
    statements: set.statements,
    savepoint: set.savepoint,
    licenses: new LoadedLicenses(licenses, { productCount: byProduct.size, lastOrder, removed }, (row) =>
      texts.read(row),
    ),
    clock: { jump: null, wall },
    now: instant(Math.max(wall, ...marks.map((row) => row.mark ?? 0))),
    masterKey,
    rules,
    ignoresCase,
    systemEvents: [],
    systemHead: server === null ? EMPTY_HEAD : { n: server.audit_n, mac: server.audit_mac },
    ledger: new AuditLedger(keys, state),
    signed: null,
    // The leader trims remembered answers, not every batch.
    answers: { count: 0, limit: Number.POSITIVE_INFINITY },
    names,
    pullsBackHistory: false,
    isChanged: false,
  } satisfies Batch;
  return { ...given, batch, links };
}

export function rowsOf({
  server,
  licenses,
}: Opened): readonly (Opened['licenses'][number] | NonNullable<Opened['server']>)[] {
  return server === null ? licenses : [server, ...licenses];
}
