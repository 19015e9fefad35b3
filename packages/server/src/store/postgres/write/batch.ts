import type { Command } from '../../../core/command.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import { withFoldedUser } from '../../../core/nouns/user-name.ts';
import { NO_RULES } from '../../../core/rules/rules.ts';
import { fingerprint } from '../../../secrets/seal.ts';
import type { Batch } from '../../engine/batch.ts';
import { type CommandResult, executeCommand, MissingRows, prepareToTry } from '../../engine/execute.ts';
import { beginHandingOn, chooseNext, listTried, serve } from '../../engine/line/hand-on.ts';
import { findSealingFingerprint } from '../../engine/sealed-secrets.ts';
import type { Connection } from '../wire/connection.ts';
import { listSecrets } from '../wire/sealed-secrets.ts';
import type { Sender, Sql } from './bulk-writes.ts';
import { type Commit, commit, type Decided } from './commit.ts';
import type { SharedCommands } from './lanes.ts';
import { listRemovedBeside, readIndex } from './license-index.ts';
import type { OpenLine } from './lines.ts';
import type { WriterMemory } from './memory.ts';
import {
  expectMeters,
  listCounted,
  listDeniedPlaces,
  type PartReads,
  type Prefetched,
  planOwnReads,
  planPrefetch,
  type TimedLicense,
} from './prefetch.ts';
import { prepareBatch, rowsOf } from './prepare-batch.ts';
import { type BatchName, hasReceipt } from './receipts.ts';
import { wasDown } from './resume.ts';
import {
  isInRightLane,
  isSameScope,
  type Lane,
  lanesOf,
  type QueuedCommand,
  type Scope,
  scopeOf,
} from './scope.ts';
import { begin, type Opened, readTogether, rollBack } from './transaction.ts';
import { WorkingSet } from './working-set.ts';

/** Commands that share a transaction. */
export interface Task extends SharedCommands {
  readonly name: BatchName;
}

/** A batch that may or may not have been committed: only the database can tell. */
export interface UnsureCommit {
  readonly decided: Decided;
  readonly commit: Commit;
  readonly results: readonly CommandResult[];
}

/** The result of one transaction. Only `done` and `unsure` can have changed anything. */
export type Attempt =
  | { readonly kind: 'done'; readonly results: readonly CommandResult[] }
  /** The licenses have changed: some commands belong to another lane. */
  | { readonly kind: 'other_lane' }
  /** The licenses have changed: the lanes need other locks than those taken. */
  | { readonly kind: 'other_scope' }
  /** No server was alive for a while: live slots get their time back before anything is decided. */
  | { readonly kind: 'rested' }
  /** The connection broke during the commit. */
  | ({ readonly kind: 'unsure' } & UnsureCommit);

/**
 * One transaction: lock what the commands are about, read what they need, decide all of them, write
 * everything at once, commit. The locked rows are authoritative; what this server remembers only guesses
 * which rows to lock and to read, and is checked against them before anything is decided. An obstacle ends
 * the transaction without changes and is returned as a value; only errors of the database are thrown, and the
 * caller then rolls back.
 */
export async function attemptBatch(
  connection: Connection,
  memory: WriterMemory,
  task: Task,
): Promise<Attempt> {
  const lanes = lanesOf(task.queued);
  const scope = scopeOf(lanes, memory.index);
  const listUnknown =
    memory.asksForPlaces === 0 ? null : (parts: readonly PartReads[]) => memory.listUnknownPlaces(parts);
  const plan = planPrefetch(partsOf(memory, task.queued, scope), memory.time.estimate(), listUnknown);
  const opened = await begin(connection, {
    scope,
    queries: plan.map(({ sql }) => sql),
    isMixed: lanes.length > 1,
  });
  const late = task.takeLate();
  const obstacle = await findObstacle(connection, memory, task, lanes, scope, opened);
  if (obstacle !== null) {
    await rollBack(connection);
    return { kind: obstacle };
  }
  memory.noteRivals(opened.licenses);
  const set = new WorkingSet();
  for (const [index, { learn }] of plan.entries()) learn(set, opened.answers[index] ?? []);
  await readLate(connection, set, planOwnReads(partsOf(memory, late, scope), listUnknown));
  const { index } = memory;
  set.expect('place_denial', () => listDeniedPlaces(partsOf(memory, task.queued, scope)));
  if (index.rules !== NO_RULES) memory.recallPlaces(set.places, opened.licenses);
  set.places.expect(() => listCounted(index.rules, partsOf(memory, task.queued, scope)));
  const lines = await openLines(connection, memory, task, opened);
  try {
    const decided = prepareBatch(memory, { scope, opened, index, set, name: task.name, lines }, lanes);
    return await decideAndCommit(connection, memory, decided, task);
  } catch (error) {
    for (const open of lines.values()) memory.lines.forget(open);
    throw error;
  }
}

async function decideAndCommit(
  connection: Connection,
  memory: WriterMemory,
  decided: Decided,
  task: Task,
): Promise<Attempt> {
  const { set, scope, lines } = decided;
  expectMeters(set, () => listLicenses(decided, task.queued));
  const results = await decideAll(connection, decided, task.queued);
  memory.notePlaces(set.places);
  const lineWrites: Sql[] = [];
  for (const open of lines.values()) if (open.line.hasNews) lineWrites.push(...memory.lines.plan(open));
  if (lineWrites.length > 0 || decided.parts.some(({ batch }) => batch.isChanged)) {
    const startedMs = memory.readMonotonicMs();
    const made = await commit(connection, decided, lineWrites);
    memory.tally.syncSeconds.note((memory.readMonotonicMs() - startedMs) / 1000);
    if (!made.isCertain) return { kind: 'unsure', decided, commit: made, results };
    memory.settle(decided, made);
  } else {
    await rollBack(connection);
    for (const { line } of lines.values()) if (line.hasNews) line.takeTurns();
  }
  for (const { batch } of decided.parts) {
    memory.noteFull(batch.licenses.entries());
    if (scope.licenses === 'all') memory.time.follow(batch.now);
    else memory.time.hear(batch.now);
  }
  return { kind: 'done', results };
}

/**
 * Returns whether an unsure commit was made. It waits for the locks of that batch, so the batch is over by
 * then: what was not committed never will be.
 */
export async function wasCommitted(connection: Connection, { decided }: UnsureCommit): Promise<boolean> {
  const { scope, name } = decided;
  const opened = await begin(connection, { scope });
  await rollBack(connection);
  return name !== null && rowsOf(opened).some((row) => hasReceipt(row, name));
}

/** Commands with the licenses that their lane locks; without those that have none. */
function partsOf(
  { index, texts, time, full }: WriterMemory,
  queued: readonly QueuedCommand[],
  { server }: Scope,
): readonly PartReads[] {
  const byLane = server ? [] : Map.groupBy(queued, ({ lane }) => lane.name).values();
  return [...byLane].flatMap((own) => {
    const { licenses: ids } = (own[0] as QueuedCommand).lane.scopeIn(index);
    if (typeof ids === 'string' || ids.length === 0) return [];
    return {
      commands: own.map(({ command }) => (index.ignoresCase ? withFoldedUser(command) : command)),
      ids,
      removed: listRemovedBeside(ids, index, time.estimate()),
      licenses: ids.map((id) => texts.find(id)).filter((license) => license !== undefined),
      full: ids.filter((id) => full.has(id)),
    };
  });
}

/** Who waits, for each lane that lends. */
async function openLines(
  sender: Sender,
  { lines, index }: WriterMemory,
  { queued, name }: Task,
  { licenses }: Opened,
): Promise<ReadonlyMap<string, OpenLine>> {
  const opened = new Map<string, OpenLine>();
  for (const lane of lanesOf(queued)) {
    const { licenses: ids } = lane.scopeIn(index);
    const rows = typeof ids === 'string' ? [] : licenses.filter(({ id }) => ids.includes(id));
    const own = queued.filter((one) => one.lane.name === lane.name);
    opened.set(lane.name, await lines.open(sender, name.server, lane, rows, own));
  }
  return opened;
}

/** Reads what commands need that came while the transaction waited for its locks. */
async function readLate(connection: Connection, set: WorkingSet, plan: readonly Prefetched[]): Promise<void> {
  if (plan.length === 0) return;
  const answers = await readTogether(
    connection,
    plan.map(({ sql }) => sql),
  );
  for (const [index, { learn }] of plan.entries()) learn(set, answers[index] ?? []);
}

/** Why nothing can be decided in this transaction. Refreshes the index if another server changed it. */
async function findObstacle(
  sender: Sender,
  memory: WriterMemory,
  { queued }: Task,
  lanes: readonly Lane[],
  scope: Scope,
  opened: Opened,
): Promise<'rested' | 'other_lane' | 'other_scope' | null> {
  if (wasDown(opened.aliveAt, memory.readWall?.() ?? opened.wall)) return 'rested';
  await requireOwnSeal(sender, memory, queued);
  if (opened.revision !== memory.index.revision) memory.index = await readIndex(sender);
  const { index } = memory;
  if (!queued.every((one) => isInRightLane(one, index))) return 'other_lane';
  return isSameScope(scopeOf(lanes, index), scope) ? null : 'other_scope';
}

const SEALING: ReadonlySet<Command['kind']> = new Set([
  'set_cloud_keys',
  'rotate_master_key',
  'rotate_grant_key',
]);

/** A secret sealed with a master key that was replaced meanwhile could never be opened again. */
async function requireOwnSeal(
  sender: Sender,
  { masterKey }: WriterMemory,
  queued: readonly QueuedCommand[],
): Promise<void> {
  if (!queued.some(({ command: { kind } }) => SEALING.has(kind))) return;
  const secrets = await listSecrets((text) => sender.query(text, []));
  if (findSealingFingerprint(secrets) === fingerprint(masterKey)) return;
  throw new Fault(
    'store_unavailable',
    'The master key of the database was replaced. Give this server the new one and start it again.',
  );
}

/**
 * Most reads that one command may wait for. Each brings rows that it did not have, a few for every license
 * at most; without a bound, a bug there would hold the locks for ever.
 */
const MAX_READS = 100_000;

/** Decides one command after the other, each on what the one before it left. */
async function decideAll(
  sender: Sender,
  { parts, set }: Decided,
  queued: readonly QueuedCommand[],
): Promise<readonly CommandResult[]> {
  const batches = new Map(parts.map(({ lane, batch }) => [lane, batch]));
  const results: CommandResult[] = [];
  for (const { batch } of parts) if (batch.line.size > 0) await handOnPatiently(sender, set, batch);
  for (const { command, lane } of queued) {
    const batch = batches.get(lane.name) as Batch;
    results.push(await work(sender, set, () => executeCommand(batch, command)));
    if (batch.line.size > 0) await handOnPatiently(sender, set, batch, command);
  }
  return results;
}

async function handOnPatiently(
  sender: Sender,
  set: WorkingSet,
  batch: Batch,
  command?: Command,
): Promise<void> {
  const product = beginHandingOn(batch, command);
  for (const tried of listTried(batch, product)) await work(sender, set, () => prepareToTry(batch, tried));
  for (;;) {
    const place = await work(sender, set, () => chooseNext(batch, product));
    if (place === null) return;
    await work(sender, set, () => serve(batch, place));
  }
}

/** The engine cannot wait, so it throws when rows are missing. This is the only place that catches it. */
async function work<T>(sender: Sender, set: WorkingSet, step: () => T): Promise<T> {
  set.beginCommand();
  for (let reads = 0; reads < MAX_READS; reads++) {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof MissingRows)) throw error;
      await set.fetch(sender, error);
    }
  }
  throw new Error(`A command asked for more rows ${MAX_READS} times.`);
}

/** Licenses that the commands may be about, including those that they bring. */
function listLicenses({ parts }: Decided, queued: readonly QueuedCommand[]): readonly TimedLicense[] {
  return parts.flatMap(({ lane, batch: { licenses, now } }) => {
    const held = Array.from(licenses.entries(), ({ license }) => license);
    const own = queued.filter((one) => one.lane.name === lane);
    const brought = own.flatMap(({ command }) =>
      command.kind === 'install_license' ? [command.license] : [],
    );
    return [...held, ...brought].map((license) => ({ license, now }));
  });
}
