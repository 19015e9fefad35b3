import type { MasterKey } from '../../../secrets/seal.ts';
import { type ChainHead, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import type { Batch } from '../../engine/batch.ts';
import type { SlotCounts } from '../../engine/counts/slot-counts.ts';
import { type HistoryRows, historyRows } from '../../engine/history/history-rows.ts';
import type { HistoryTable } from '../../engine/history/history-sql.ts';
import { clampHistory } from '../../engine/history/write-history.ts';
import type { LoadedLicense } from '../../engine/loaded-licenses.ts';
import type { PostgresRowOf } from '../../engine/tables.ts';
import type { Connection } from '../wire/connection.ts';
import { isConnectionLost } from '../wire/database-error.ts';
import type { AuditLedger, NewLink } from './audit-ledger.ts';
import { addHistory, type Sql } from './bulk-writes.ts';
import type { LicenseIndex } from './license-index.ts';
import type { OpenLine } from './lines.ts';
import { type BatchName, withReceipt } from './receipts.ts';
import type { Scope } from './scope.ts';
import type { Opened } from './transaction.ts';
import type { WorkingSet } from './working-set.ts';

const SAVE_LICENSE = `UPDATE license SET in_use = $2, audit_n = $3, audit_mac = $4,
  audit_anchor = coalesce($5::bytea, audit_anchor), mark = $6, receipts = $7, counts = $8 WHERE id = $1`;

/** The same for all licenses of a batch at once: one list for each column. */
const SAVE_LICENSES = `UPDATE license SET in_use = saved.in_use, audit_n = saved.audit_n,
  audit_mac = saved.audit_mac, audit_anchor = coalesce(saved.audit_anchor, license.audit_anchor),
  mark = saved.mark, receipts = saved.receipts, counts = saved.counts
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bigint[], $7::text[],
    $8::text[]) AS saved(id, in_use, audit_n, audit_mac, audit_anchor, mark, receipts, counts)
  WHERE license.id = saved.id`;

const ADD_LINKS = `INSERT INTO audit_link (chain, n, at, events, mac)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[])`;

/** A reset sets `alive_at` back too; otherwise a rest would go unnoticed until the clock gets there again. */
const SAVE_SERVER = `UPDATE server SET mark = $1,
  alive_at = CASE WHEN alive_at > $1 THEN $1 ELSE alive_at END, audit_n = $2, audit_mac = $3,
  audit_anchor = coalesce($4::bytea, audit_anchor), receipts = $5, revision = revision + $6::bigint,
  audit_chains = coalesce($7::bytea, audit_chains),
  audit_signed_links = coalesce($8::bigint, audit_signed_links) WHERE id = 1`;

/** The commands of one lane. */
export interface Part {
  readonly lane: string;
  readonly batch: Batch & { readonly ledger: AuditLedger };
}

/** A decided batch and everything that its commit is made from. */
export interface Decided {
  /** One for each lane; only one if the server's row is locked. */
  readonly parts: readonly Part[];
  readonly set: WorkingSet;
  readonly scope: Scope;
  readonly opened: Opened;
  readonly index: LicenseIndex;
  /** How many links the log had; correct only if the scope covers all licenses. */
  readonly links: number;
  /** `null`: it leaves no receipt. */
  readonly name: BatchName | null;
  /** Before anything was decided. */
  readonly masterKey: MasterKey;
  /** By lane: who waits. */
  readonly lines: ReadonlyMap<string, OpenLine>;
}

/** The result of a commit. Any other failure is thrown. */
export type Commit = { readonly links: readonly NewLink[] } & (
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
  const { writes, links } = planWrites(decided);
  const ends = await connection.together(() => {
    const sent = [...writes, ...more].map(({ text, values }) => connection.query(text, values));
    return Promise.allSettled([...sent, connection.query('COMMIT')]);
  });
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed === undefined) return { links, isCertain: true };
  if (!isConnectionLost(failed.reason)) throw failed.reason;
  return { links, isCertain: false, error: failed.reason };
}

/** A license that a part has changed. */
interface Changed {
  readonly part: Part;
  readonly entry: LoadedLicense;
}

/** All writes of a batch, in order. */
function planWrites(decided: Decided): {
  readonly writes: readonly Sql[];
  readonly links: readonly NewLink[];
} {
  const { parts, set, scope } = decided;
  const changed = parts.flatMap((part) =>
    Array.from(part.batch.licenses.entries())
      .filter(({ isTouched }) => isTouched || scope.licenses === 'all')
      .map((entry) => ({ part, entry })),
  );
  for (const { part, entry } of changed) entry.meters.flush(part.batch.statements);
  const decidedWrites = [...set.takeWrites(), ...planPlaces(decided), ...addAllHistory(changed)];
  for (const { batch } of parts) if (batch.clampsHistory) clampHistory(batch.statements, batch.now);
  const links: NewLink[] = [];
  const saved = saveLicenses(decided, changed, links);
  const server = scope.server ? saveServer(decided, changed, links) : [];
  const writes = [...decidedWrites, ...set.takeWrites(), ...addLinks(links), ...saved, ...server];
  return { writes, links };
}

function planPlaces({ parts, set }: Decided): readonly Sql[] {
  const counts: SlotCounts[] = [];
  for (const { batch } of parts) {
    for (const entry of batch.licenses.entries()) if (entry.counts !== null) counts.push(entry.counts);
  }
  return set.places.plan(counts);
}

/** What all parts add to the history, with one statement for each table. */
function addAllHistory(changed: readonly Changed[]): readonly Sql[] {
  const tables = new Map<HistoryTable, HistoryRows['rows'][number][]>();
  for (const { part, entry } of changed) {
    if (entry.history.length === 0) continue;
    for (const { table, rows } of historyRows([entry], part.batch.names, part.batch.now))
      tables.getOrInsertComputed(table, () => []).push(...rows);
  }
  return Array.from(tables, ([table, rows]) => addHistory({ table, rows }));
}

type Vouched = Pick<PostgresRowOf<'license'>, 'receipts' | 'audit_anchor'>;

const NEW_ROW: Vouched = { receipts: '{}', audit_anchor: null };

function saveLicenses(
  { opened, name, set }: Decided,
  changed: readonly Changed[],
  links: NewLink[],
): readonly Sql[] {
  if (changed.length === 0) return [];
  const rows = new Map<number, Vouched>(opened.licenses.map((row) => [row.id, row]));
  const saved = changed.map(({ part: { batch, lane }, entry }) => {
    const { license, storedInUse, events } = entry;
    const row = rows.get(license.id) ?? NEW_ROW;
    const chain = chainOf(entry.head, row);
    const { head, anchor, link } = batch.ledger.addLink(license.id, chain, events, batch.now);
    if (link !== null) links.push(link);
    const receipts = withReceipt(row, lane, name);
    set.places.receipts.set(license.id, receipts);
    const counts = entry.counts?.flush() ?? null;
    return [license.id, storedInUse, head.n, head.mac, anchor, batch.now, receipts, counts];
  });
  const [only, ...others] = saved;
  return only !== undefined && others.length === 0
    ? [{ text: SAVE_LICENSE, values: only }]
    : [{ text: SAVE_LICENSES, values: toColumns(saved) }];
}

function addLinks(links: readonly NewLink[]): readonly Sql[] {
  if (links.length === 0) return [];
  const rows = links.map(({ chain, n, at, events, mac }) => [chain, n, at, events, mac]);
  return [{ text: ADD_LINKS, values: toColumns(rows) }];
}

/** Rows as lists of the values of each column. */
function toColumns<T>(rows: readonly (readonly T[])[]): readonly (readonly T[])[] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] as T));
}

function saveServer(decided: Decided, changed: readonly Changed[], links: NewLink[]): readonly Sql[] {
  const { parts, opened, name } = decided;
  const [{ batch, lane }] = parts as readonly [Part];
  const row = opened.server as PostgresRowOf<'server'>;
  const chain = chainOf(batch.systemHead, row);
  const { head, anchor, link } = batch.ledger.addLink(SYSTEM_CHAIN, chain, batch.systemEvents, batch.now);
  if (link !== null) links.push(link);
  const values = [
    batch.now,
    head.n,
    head.mac,
    anchor,
    withReceipt(row, lane, name),
    isNewRevision(decided, batch) ? 1 : 0,
    moveChains(decided, batch, changed),
    batch.signed !== null && batch.systemEvents.length === 1 ? decided.links + 1 : null,
  ];
  return [{ text: SAVE_SERVER, values }];
}

function chainOf(head: ChainHead, { audit_anchor: anchor }: Vouched) {
  return { head, anchor };
}

function isNewRevision({ set, index }: Decided, batch: Batch): boolean {
  return set.written.has('license') || batch.rules !== index.rules;
}

/** The anchor of the set of chains if there is a new chain. */
function moveChains(
  { opened, index }: Decided,
  { ledger }: Part['batch'],
  changed: readonly Changed[],
): Uint8Array | null {
  const ids = changed.map(({ entry }) => entry.license.id);
  const added = ids.filter((id) => !index.chains.includes(id));
  if (added.length === 0) return null;
  return ledger.addChains(opened.server?.audit_chains ?? null, index.chains, added);
}
