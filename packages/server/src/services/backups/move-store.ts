import type { AuditVerdict } from '../../store/query.ts';
import type {
  CopiedRow,
  RowCounts,
  StoreContents,
  StoreSource,
  StoreTarget,
} from '../../store/store-copy.ts';

/** A reason not to move the data that the administrator can fix. */
export class MoveError extends Error {}

export interface MovedStore {
  readonly from: string;
  readonly to: string;
  /** Rows by their tables. */
  readonly rows: RowCounts;
  readonly audit: Pick<AuditVerdict, 'chains' | 'links' | 'events' | 'thinned'>;
}

/**
 * Moves everything from one store to an empty one. The target is committed once it is verified to be equal to
 * the source, and only then the source is marked as moved. An interrupted move can be repeated: a target that
 * already has the same data counts as moved.
 */
export async function moveStore(source: StoreSource, target: StoreTarget): Promise<MovedStore> {
  const copied = await copyStore(source, target);
  await mark(source, target);
  return copied;
}

/** The same without the mark: the source stays in use. */
export async function copyStore(source: StoreSource, target: StoreTarget): Promise<MovedStore> {
  refuseOther(source, target);
  const audit = await verify(source);
  const rows = await source.countRows();
  if (target.identity === null) {
    for (const table of source.tables) await copyTable(source, target, table);
    await target.anchorChains();
  }
  const difference = await findDifference(source, target, { audit, rows });
  if (difference !== null) throw new MoveError(`${describeMismatch(target)} (${difference}).`);
  if (target.identity === null) await target.commit();
  const { chains, links, events, thinned } = audit;
  return { from: source.place, to: target.place, rows, audit: { chains, links, events, thinned } };
}

function refuseOther(source: StoreSource, target: StoreTarget): void {
  if (target.identity === null || target.identity === source.identity) return;
  throw new MoveError(`${target.place} contains data of another server. Choose an empty place.`);
}

async function verify(contents: StoreContents): Promise<AuditVerdict> {
  const verdict = await contents.verifyAudit();
  const [first] = verdict.problems;
  if (verdict.ok || first === undefined) return verdict;
  const more = verdict.problems.length > 1 ? ` It is one of ${verdict.problems.length} problems.` : '';
  throw new MoveError(
    `The audit log in ${contents.place} is broken, and a move would hide that. ` +
      `${first.chain === null ? '' : `Chain ${first.chain}, link ${first.n}: `}${first.problem}${more} ` +
      'Run "berth audit verify" for details. Nothing was moved.',
  );
}

async function copyTable(source: StoreSource, target: StoreTarget, table: string): Promise<void> {
  for await (const page of source.listPages(table)) {
    for (const row of page) requireExact(table, row);
    await target.addRows(table, page);
  }
}

/** Larger numbers would be rounded. Berth writes none. */
function requireExact(table: string, row: CopiedRow): void {
  for (const [column, value] of Object.entries(row)) {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) continue;
    throw new MoveError(
      `The table ${table} has a ${column} that was not written by Berth. Nothing was moved.`,
    );
  }
}

/** What differs between target and source; `null` if nothing does. */
async function findDifference(
  source: StoreSource,
  target: StoreTarget,
  { audit, rows }: Pick<MovedStore, 'audit' | 'rows'>,
): Promise<string | null> {
  const found = await target.countRows();
  const table = Object.keys(rows).find((name) => rows[name] !== found[name]);
  if (table !== undefined) return `${table}: ${rows[table]} rows here, ${found[table]} there`;
  const verdict = await target.verifyAudit();
  if (!verdict.ok) return `the audit log: ${verdict.problems[0]?.problem}`;
  const totals = ['chains', 'links', 'events', 'thinned'] as const;
  const isSame = totals.every((name) => verdict[name] === audit[name]);
  const isSameHead = (await source.readHead()) === (await target.readHead());
  return isSame && isSameHead ? null : 'the audit log has different events';
}

function describeMismatch({ identity, place }: StoreTarget): string {
  if (identity === null)
    return `The data written to ${place} differs from the source, so it was removed again`;
  return (
    `The data of this server is already in ${place}, and one of the two has been used since. Continue with ` +
    'that one, and never start the other one'
  );
}

async function mark(source: StoreSource, target: StoreTarget): Promise<void> {
  try {
    await source.markMoved(target.place);
  } catch (error) {
    throw new MoveError(
      `Everything is in ${target.place}, but ${source.place} could not be marked as moved: ` +
        `${(error as Error).message} Run the command again before any server is started.`,
    );
  }
}
