import { type ChainHead, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import type { Batch } from '../../engine/batch.ts';
import { historyRows } from '../../engine/history/history-rows.ts';
import { pullBackHistory } from '../../engine/history/write-history.ts';
import type { LoadedLicense } from '../../engine/loaded-licenses.ts';
import type { PostgresRowOf } from '../../engine/tables.ts';
import type { Connection } from '../wire/connection.ts';
import { isConnectionLost } from '../wire/database-error.ts';
import type { Opened } from '../wire/transaction.ts';
import type { AuditLedger } from './audit-ledger.ts';
import { addHistory, type Sql } from './bulk-writes.ts';
import type { LicenseIndex } from './license-index.ts';
import { type BatchName, withReceipt } from './receipts.ts';
import type { Scope } from './scope.ts';
import type { WorkingSet } from './working-set.ts';

const SAVE_LICENSE = `UPDATE license SET in_use = $2, audit_n = $3, audit_mac = $4,
  audit_anchor = coalesce($5::bytea, audit_anchor), mark = $6, receipts = $7 WHERE id = $1`;

/** A reset sets `alive_at` back too; otherwise a rest would go unnoticed until the clock gets there again. */
const SAVE_SERVER = `UPDATE server SET mark = $1,
  alive_at = CASE WHEN alive_at > $1 THEN $1 ELSE alive_at END, audit_n = $2, audit_mac = $3,
  audit_anchor = coalesce($4::bytea, audit_anchor), receipts = $5, revision = revision + $6::bigint,
  audit_chains = coalesce($7::bytea, audit_chains),
  audit_signed_links = coalesce($8::bigint, audit_signed_links) WHERE id = 1`;

/** A decided batch and everything that its commit is made from. */
export interface Decided {
  readonly batch: Batch & { readonly ledger: AuditLedger };
  readonly set: WorkingSet;
  readonly scope: Scope;
  readonly opened: Opened;
  readonly index: LicenseIndex;
  /** How many links the log had; correct only if the scope covers all licenses. */
  readonly links: number;
  /** `null`: it leaves no receipt. */
  readonly name: BatchName | null;
}

/** The result of a commit. Any other failure is thrown. */
export type Commit = { readonly hasEvents: boolean } & (
  | { readonly isCertain: true }
  /** The connection broke before the database answered. */
  | { readonly isCertain: false; readonly error: unknown }
);

/** Writes what a batch has decided, and `more`, in one trip with the COMMIT. */
export async function commit(
  connection: Connection,
  decided: Decided,
  more: readonly Sql[] = [],
): Promise<Commit> {
  const { writes, hasEvents } = planWrites(decided);
  const sent = [...writes, ...more].map(({ text, values }) => connection.query(text, values));
  sent.push(connection.query('COMMIT'));
  const ends = await Promise.allSettled(sent);
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed === undefined) return { hasEvents, isCertain: true };
  if (!isConnectionLost(failed.reason)) throw failed.reason;
  return { hasEvents, isCertain: false, error: failed.reason };
}

/** All writes of a batch, in order. */
function planWrites(decided: Decided): { readonly writes: readonly Sql[]; readonly hasEvents: boolean } {
  const { batch, set, scope } = decided;
  const entries = [...batch.licenses.entries()].filter(
    ({ isTouched }) => isTouched || scope.licenses === 'all',
  );
  for (const entry of entries) entry.meters.flush(batch.statements);
  const history = historyRows(entries, batch.names, batch.now).map(addHistory);
  const decidedWrites = [...set.takeWrites(), ...history];
  if (batch.pullsBackHistory) pullBackHistory(batch.statements, batch.now);
  const writes = [
    ...decidedWrites,
    ...set.takeWrites(),
    ...entries.flatMap((entry) => saveEntry(decided, entry)),
  ];
  if (scope.server) writes.push(...saveServer(decided, entries));
  const hasEvents = batch.systemEvents.length > 0 || entries.some(({ events }) => events.length > 0);
  return { writes, hasEvents };
}

type Vouched = Pick<PostgresRowOf<'license'>, 'receipts' | 'audit_anchor'>;

const NEW_ROW: Vouched = { receipts: '{}', audit_anchor: null };

function saveEntry({ batch, opened, name }: Decided, entry: LoadedLicense): readonly Sql[] {
  const { license, storedInUse, events } = entry;
  const row = opened.licenses.find(({ id }) => id === license.id) ?? NEW_ROW;
  const { head, anchor, writes } = batch.ledger.addLink(
    license.id,
    chainOf(entry.head, row),
    events,
    batch.now,
  );
  const receipts = withReceipt(row, name);
  const values = [license.id, storedInUse, head.n, head.mac, anchor, batch.now, receipts];
  return [...writes, { text: SAVE_LICENSE, values }];
}

function saveServer(decided: Decided, entries: readonly LoadedLicense[]): readonly Sql[] {
  const { batch, opened, name } = decided;
  const row = opened.server as PostgresRowOf<'server'>;
  const chain = chainOf(batch.systemHead, row);
  const { head, anchor, writes } = batch.ledger.addLink(SYSTEM_CHAIN, chain, batch.systemEvents, batch.now);
  const values = [
    batch.now,
    head.n,
    head.mac,
    anchor,
    withReceipt(row, name),
    isNewRevision(decided) ? 1 : 0,
    moveChains(decided, entries),
    batch.signed !== null && batch.systemEvents.length === 1 ? decided.links + 1 : null,
  ];
  return [...writes, { text: SAVE_SERVER, values }];
}

function chainOf(head: ChainHead, { audit_anchor: anchor }: Vouched) {
  return { head, anchor };
}

function isNewRevision({ batch, set, index }: Decided): boolean {
  return set.written.has('license') || batch.rules !== index.rules;
}

/** The anchor of the set of chains if there is a new chain. */
function moveChains({ batch, opened, index }: Decided, entries: readonly LoadedLicense[]): Uint8Array | null {
  const added = entries.map(({ license }) => license.id).filter((id) => !index.chains.includes(id));
  if (added.length === 0) return null;
  return batch.ledger.addChains(opened.server?.audit_chains ?? null, index.chains, added);
}
