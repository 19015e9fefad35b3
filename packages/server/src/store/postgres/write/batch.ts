import type { Command } from '../../../core/command.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import type { License } from '../../../core/nouns/license.ts';
import { withIdentity } from '../../../core/nouns/user-name.ts';
import { fingerprint } from '../../../secrets/seal.ts';
import type { Batch } from '../../engine/batch.ts';
import { type CommandResult, executeCommand, MissingRows } from '../../engine/execute-command.ts';
import { findSealingFingerprint } from '../../engine/sealed-secrets.ts';
import { listSecrets } from '../read/read-server.ts';
import type { Connection } from '../wire/connection.ts';
import { begin, type Opened, rollBack } from '../wire/transaction.ts';
import { type Commit, commit, type Decided } from './commit.ts';
import { listRemovedBeside, readIndex } from './license-index.ts';
import type { WriterMemory } from './memory.ts';
import { expectMeters, listPlaces, type Prefetched, planPrefetch } from './prefetch.ts';
import { prepareBatch, rowsOf } from './prepare-batch.ts';
import { type BatchName, hasReceipt } from './receipts.ts';
import { isRested } from './resume.ts';
import { isSameScope, type Lane, laneOf, type Scope } from './scope.ts';
import { type Sender, WorkingSet } from './working-set.ts';

/** Commands that share a transaction. */
export interface Task {
  readonly lane: Lane;
  readonly commands: readonly Command[];
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
  /** The licenses have changed: the lane needs other locks than those taken. */
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
  const { lane, commands, name } = task;
  const scope = lane.scopeIn(memory.index);
  const plan = planReads(memory, commands, scope);
  const opened = await begin(
    connection,
    scope,
    plan.map(({ sql }) => sql),
  );
  const obstacle = await findObstacle(connection, memory, task, scope, opened);
  if (obstacle !== null) {
    await rollBack(connection);
    return { kind: obstacle };
  }
  const set = new WorkingSet();
  for (const [index, { learn }] of plan.entries()) learn(set, opened.answers[index] ?? []);
  const { licenses } = scope;
  if (typeof licenses !== 'string') set.expect('place_denial', () => listPlaces(commands, licenses));
  const decided = prepareBatch(memory, { scope, opened, index: memory.index, set, name });
  const { batch } = decided;
  expectMeters(set, () => listLicenses(batch, commands), batch.now);
  const results = await decideAll(connection, decided, commands);
  if (batch.isChanged) {
    const startedMs = memory.readMonotonicMs();
    const made = await commit(connection, decided);
    memory.tally.noteSync(memory.readMonotonicMs() - startedMs);
    if (!made.isCertain) return { kind: 'unsure', decided, commit: made, results };
    memory.settle(decided, made);
  } else {
    await rollBack(connection);
  }
  if (licenses === 'all') memory.time.follow(batch.now);
  else memory.time.hear(batch.now);
  return { kind: 'done', results };
}

/**
 * Returns whether an unsure commit was made. It waits for the locks of that batch, so the batch is over by
 * then: what was not committed never will be.
 */
export async function wasCommitted(connection: Connection, { decided }: UnsureCommit): Promise<boolean> {
  const { scope, name } = decided;
  const opened = await begin(connection, scope, []);
  await rollBack(connection);
  return name !== null && rowsOf(opened).some((row) => hasReceipt(row, name));
}

function planReads(
  { index, texts, time }: WriterMemory,
  commands: readonly Command[],
  { server, licenses }: Scope,
): readonly Prefetched[] {
  if (server || typeof licenses === 'string' || licenses.length === 0) return [];
  const known = licenses.map((id) => texts.find(id)).filter((license) => license !== undefined);
  const identified = commands.map((command) => withIdentity(command, index.ignoresCase));
  const now = time.estimate();
  const removed = listRemovedBeside(licenses, index, now);
  return planPrefetch(identified, { held: licenses, removed }, known, now);
}

/** Why nothing can be decided in this transaction. Refreshes the index if another server changed it. */
async function findObstacle(
  sender: Sender,
  memory: WriterMemory,
  { lane, commands }: Task,
  scope: Scope,
  opened: Opened,
): Promise<'rested' | 'other_lane' | 'other_scope' | null> {
  if (isRested(opened.aliveAt, memory.readWall?.() ?? opened.wall)) return 'rested';
  await requireOwnSeal(sender, memory, commands);
  if (opened.revision !== memory.index.revision) memory.index = await readIndex(sender);
  const { index } = memory;
  if (commands.some((command) => laneOf(command, index).name !== lane.name)) return 'other_lane';
  return isSameScope(lane.scopeIn(index), scope) ? null : 'other_scope';
}

/** A secret sealed with a master key that was replaced meanwhile could never be opened again. */
async function requireOwnSeal(
  sender: Sender,
  { masterKey }: WriterMemory,
  commands: readonly Command[],
): Promise<void> {
  if (!commands.some(({ kind }) => kind === 'set_cloud_keys' || kind === 'rotate_master_key')) return;
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
  { batch, set }: Decided,
  commands: readonly Command[],
): Promise<readonly CommandResult[]> {
  const results: CommandResult[] = [];
  for (const command of commands) {
    set.beginCommand();
    let result = tryCommand(batch, command);
    for (let reads = 0; result instanceof MissingRows; reads++) {
      if (reads === MAX_READS) throw new Error(`${command.kind} asked for more rows ${MAX_READS} times.`);
      await set.fetch(sender, result);
      result = tryCommand(batch, command);
    }
    results.push(result);
  }
  return results;
}

/** The engine cannot wait, so it throws when rows are missing. This is the only place that catches it. */
function tryCommand(batch: Batch, command: Command): CommandResult | MissingRows {
  try {
    return executeCommand(batch, command);
  } catch (error) {
    if (error instanceof MissingRows) return error;
    throw error;
  }
}

/** Licenses that the commands may be about, including those that they bring. */
function listLicenses({ licenses }: Batch, commands: readonly Command[]): readonly License[] {
  const held = Array.from(licenses.entries(), ({ license }) => license);
  return [...held, ...commands.flatMap((one) => (one.kind === 'install_license' ? [one.license] : []))];
}
