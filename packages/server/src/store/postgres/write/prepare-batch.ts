import { instant } from '../../../core/nouns/instant.ts';
import { EMPTY_HEAD } from '../../engine/audit/audit-chain.ts';
import { SlotCounts } from '../../engine/counts/slot-counts.ts';
import { WaitingLine } from '../../engine/line/waiting-line.ts';
import { LoadedLicenses } from '../../engine/loaded-licenses.ts';
import { AuditLedger } from './audit-ledger.ts';
import type { Decided, Part } from './commit.ts';
import type { WriterMemory } from './memory.ts';
import type { Lane } from './scope.ts';
import type { Opened } from './transaction.ts';

/** What the commands of one lane work on. */
type Prepared = Pick<Decided, 'scope' | 'opened' | 'index' | 'set' | 'name' | 'lines'>;

/** For what is no command of a client. */
const NO_LINE = { line: new WaitingLine() };

/**
 * Everything that deciding works on, from the rows that a transaction has locked. Each lane has its own
 * licenses and its own time, as if it were alone: the clock of one product never moves that of another.
 */
export function prepareBatch(memory: WriterMemory, given: Prepared, lanes: readonly Lane[]): Decided {
  const { opened, scope, set } = given;
  const links = rowsOf(opened).reduce((sum, row) => sum + row.audit_n, 0);
  const { server } = opened;
  const state =
    scope.licenses === 'heads' ? { links, signedLinks: server?.audit_signed_links ?? null } : null;
  if (server !== null) set.know('getServer', [], [server]);
  const ledger = new AuditLedger(memory.keys, state);
  const rows = new Map(opened.licenses.map((row) => [row.id, row]));
  const parts = lanes.map(({ name, scopeIn }) => {
    const { licenses } = scopeIn(given.index);
    const own = typeof licenses === 'string' ? opened.licenses : licenses.flatMap((id) => rows.get(id) ?? []);
    const { line } = given.lines.get(name) ?? NO_LINE;
    return { lane: name, batch: { ...preparePart(memory, given, own, ledger), line } };
  });
  return { ...given, parts, links, masterKey: memory.masterKey };
}

function preparePart(
  { readWall, texts, masterKey, names }: WriterMemory,
  { scope, opened, index, set }: Prepared,
  licenses: Opened['licenses'],
  ledger: AuditLedger,
): Omit<Part['batch'], 'line'> {
  const { server } = opened;
  const { byProduct, lastOrder, removed, rules, ignoresCase } = index;
  const wall = instant(readWall?.() ?? opened.wall);
  const marks = [...(scope.licenses === 'heads' ? [] : licenses), ...(server === null ? [] : [server])];
  return {
    statements: set.statements,
    savepoint: set.savepoint,
    licenses: new LoadedLicenses(
      licenses,
      { productCount: byProduct.size, lastOrder, removed },
      {
        license: (row) => texts.read(row),
        counts: ({ id, counts }) =>
          counts === null ? null : SlotCounts.read(counts, set.places.open(id, false)),
      },
    ),
    countPlaces: (id) => set.places.open(id, true),
    clock: { jump: null, wall },
    now: instant(Math.max(wall, ...marks.map((row) => row.mark ?? 0))),
    masterKey,
    rules,
    ignoresCase,
    systemEvents: [],
    systemHead: server === null ? EMPTY_HEAD : { n: server.audit_n, mac: server.audit_mac },
    ledger,
    signed: null,
    // The leader trims remembered answers, not every batch.
    answers: { count: 0, limit: Number.POSITIVE_INFINITY },
    names,
    clampsHistory: false,
    isChanged: false,
  };
}

export function rowsOf({
  server,
  licenses,
}: Opened): readonly (Opened['licenses'][number] | NonNullable<Opened['server']>)[] {
  return server === null ? licenses : [server, ...licenses];
}
