import assert from 'node:assert/strict';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { MINUTE_MS } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import { COLLECT_LIMIT } from '@berth/server/core/view';
import fc from 'fast-check';
import type { ExamStore } from '../../packages/server/test/store/exam/exam-store.ts';
import { closeKept } from '../../packages/server/test/store/exam/kept-connections.ts';
import { expectSound } from '../../packages/server/test/store/exam/soundness.ts';
import { reuseDatabase } from '../support/stores/reused-database.ts';
import { expectSameRecords, expectSameWaits } from './expect-same-records.ts';
import { measureFairness } from './fair-rules.ts';
import { COMMANDS, RESTARTS, SHARED_RESTARTS, TURNS } from './histories.ts';
import { expectSameLists, type HistoryCommand, type Real } from './history-command.ts';
import { type ModelStore, startPostgresStore, startSqlite } from './model-stores.ts';
import { WaitingModel } from './waiting-model.ts';

const MAX_COMMANDS = 80;

/** Histories one after the other. */
export interface Lane {
  readonly seed: number;
  readonly runs: number;
  /** Of an empty database, for PostgreSQL beside SQLite; it is emptied after each history. */
  readonly database: string | null;
}

/** Runs a lane in a thread, whose name is this file. */
if (!isMainThread) void runLane(workerData as Lane).then((steps) => parentPort?.postMessage(steps));

/** How many steps all histories had together. */
export async function runLane({ seed, runs, database }: Lane): Promise<number> {
  const emptyDatabase = database === null ? null : reuseDatabase(async () => database);
  const start = async () =>
    [
      await startSqlite(),
      ...(emptyDatabase === null ? [] : [await startPostgresStore(emptyDatabase)]),
    ] as const;
  const commands = [...COMMANDS, ...(database === null ? [RESTARTS] : [SHARED_RESTARTS, TURNS])];
  const histories = fc.commands(commands, { maxCommands: MAX_COMMANDS, size: 'max' });
  let steps = 0;
  const property = fc.asyncProperty(histories, async (history) => {
    steps += await runHistory(await start(), history);
  });
  try {
    await fc.assert(property, { seed, numRuns: runs });
  } finally {
    await closeKept();
  }
  return steps;
}

/** On all stores side by side. */
async function runHistory(stores: Real['stores'], history: Iterable<HistoryCommand>): Promise<number> {
  const model = new WaitingModel();
  const fairness = measureFairness(model, null);
  const real: Real = { stores, listed: { licenses: [], slots: [] }, steps: 0, fairness };
  try {
    await fc.asyncModelRun(() => ({ model, real }), history);
    await expectSameLists(stores);
    for (const store of stores) {
      await expectAllDenialsKept(store, model);
      await expectSound(store.exam.store);
      await store.inspect();
    }
    model.tick(MINUTE_MS);
    model.sweep();
    const ids = model.licenses.map(({ id }) => id);
    await expectSameRecords(stores, ids);
    // A server that has its data alone forgets who had just left the line.
    if (!model.hasLostLine) await expectSameWaits(stores, model);
    return real.steps;
  } finally {
    for (const { exam } of stores) await exam.end();
  }
}

/** One command tidies a bounded number. */
async function sweepAll(exam: ExamStore, licenseId: LicenseId): Promise<void> {
  for (;;) {
    const outcome = await exam.execute({ kind: 'collect', licenseId });
    if (outcome.kind !== 'done' || outcome.count < COLLECT_LIMIT) return;
  }
}

/** Nobody was refused without a trace: events and their counters add up to the refusals. */
async function expectAllDenialsKept({ exam }: ModelStore, model: WaitingModel): Promise<void> {
  exam.clock.advance(MINUTE_MS);
  for (const { id, denials } of model.licenses) {
    await sweepAll(exam, id);
    const denied = [
      ...(await exam.listEventsOf('slot_denied', id)),
      ...(await exam.listEventsOf('consumption_denied', id)),
    ];
    const repeated = await exam.listEventsOf('denials_repeated', id);
    const sum = [...denied, ...repeated].reduce((total, event) => total + event.repeated, denied.length);
    assert.equal(sum, denials, 'every denial is in the audit');
  }
}
