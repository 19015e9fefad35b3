import { setTimeout as delay } from 'node:timers/promises';
import type { ProductLimit } from '../../../core/access/role.ts';
import { backOffMs } from '../../../core/back-off.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import { describeLine } from '../../engine/line/describe-line.ts';
import type { LineDescription } from '../../store.ts';
import type { Connection } from '../wire/connection.ts';
import { isConnectionLost, isDataError, isRetryable, translate } from '../wire/database-error.ts';
import type { Pool } from '../wire/pool.ts';
import { type Attempt, attemptBatch, type Task, type UnsureCommit, wasCommitted } from './batch.ts';
import type { LaneResult, SharedCommands } from './lanes.ts';
import { countLost } from './lost-links.ts';
import { type MemoryOptions, WriterMemory } from './memory.ts';
import type { BatchName } from './receipts.ts';
import { resume } from './resume.ts';
import { isInRightLane, lanesOf, type QueuedCommand } from './scope.ts';
import { rollBack } from './transaction.ts';

interface WriterOptions extends MemoryOptions {
  readonly pool: Pool;
  /** This process, among the servers on one database. */
  readonly serverId: string;
  /** How long to keep asking whether a commit was made, before clients are told that it is unknown. */
  readonly askTimeoutMs: number;
}

/**
 * Most transactions for one batch. Each one after the first means that other servers changed the same rows
 * in between, or that a connection was lost. Ten take about a second and a half, so clients still wait.
 */
const MAX_ATTEMPTS = 10;

const BACK_OFF = { firstMs: 50, longestMs: 200 };

/**
 * Carries out batches: tries a transaction (`batch.ts`) until it is done, and decides what to do if it is
 * not. A failed attempt has changed nothing, with one exception: the connection broke during the commit. Then
 * the database is asked whether it was committed before anything is tried again, because commands must count
 * once. A batch gets at most `MAX_ATTEMPTS` transactions; after them, or when the database stays away, its
 * commands fail with a `Fault`.
 */
export class PostgresWriter {
  readonly memory: WriterMemory;
  readonly #options: WriterOptions;
  #batches = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.memory = new WriterMemory(options);
  }

  async executeBatch(commands: SharedCommands): Promise<readonly LaneResult[] | 'apart'> {
    const task = { ...commands, name: this.#nameBatch() };
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const end = await this.#attempt(task);
      switch (end.kind) {
        case 'done':
          return end.results;
        case 'other_lane':
          return task.queued.map((one) => (isInRightLane(one, this.memory.index) ? 'again' : end.kind));
        case 'other_scope':
        case 'resumed':
          continue;
        case 'unsure':
          if (!(await this.#wasCommitted(end))) break;
          this.memory.settle(end.decided, end.commit);
          return end.results;
        case 'failed':
          if (mayTryAgain(end.error) && attempt < MAX_ATTEMPTS) break;
          if (lanesOf(task.queued).length > 1 && !isConnectionLost(end.error)) return 'apart';
          if (isDataError(end.error)) return this.#executeHalves(task.queued, end.error);
          throw translate(end.error);
      }
      await waitAfter(attempt);
    }
    throw new Fault(
      'store_unavailable',
      `All ${MAX_ATTEMPTS} attempts met other changes or lost connections. Try again in a moment.`,
    );
  }

  #nameBatch(): BatchName {
    return { server: this.#options.serverId, batch: String(++this.#batches) };
  }

  async listWaiting(connection: Connection, products?: ProductLimit): Promise<LineDescription> {
    const { lines, time } = this.memory;
    const line = await lines.read(connection, this.#options.serverId);
    return describeLine(line, time.estimate(), products);
  }

  /** The database has another place. A standby that was behind when it was promoted lacks some changes. */
  async noteMove(host: string): Promise<void> {
    const heads = this.memory.forget();
    let lost: number | null = null;
    for (let attempt = 1; lost === null && attempt <= MAX_ATTEMPTS; attempt++) {
      lost = await this.#transact((connection) => countLost(connection, heads)).catch(() => null);
      if (lost === null) await waitAfter(attempt);
    }
    this.#options.onNotice({ kind: 'database_moved', host, lost });
  }

  /** See `resume.ts`. */
  resume(): Promise<void> {
    return this.#transact((connection) => resume(connection, this.memory));
  }

  /** Returns errors as values; the caller throws those that it cannot handle. */
  async #attempt(task: Task): Promise<Exclude<Attempt, { kind: 'rested' }> | Resumed | Failed> {
    try {
      const end = await this.#transact((connection) => attemptBatch(connection, this.memory, task));
      if (end.kind !== 'rested') return end;
      await this.resume();
      return { kind: 'resumed' };
    } catch (error) {
      return { kind: 'failed', error };
    }
  }

  /** Asks until the database answers. */
  async #wasCommitted(unsure: UnsureCommit): Promise<boolean> {
    const { readMonotonicMs, askTimeoutMs } = this.#options;
    const untilMs = readMonotonicMs() + askTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      await waitAfter(attempt);
      try {
        return await this.#transact((connection) => wasCommitted(connection, unsure));
      } catch (error) {
        if (readMonotonicMs() > untilMs) throw translate(error);
      }
    }
  }

  /** Something in one of the commands cannot be stored: it fails alone. */
  async #executeHalves(queued: readonly QueuedCommand[], error: unknown): Promise<readonly LaneResult[]> {
    if (queued.length === 1) return [{ error }];
    const middle = queued.length >> 1;
    const results: LaneResult[] = [];
    for (const half of [queued.slice(0, middle), queued.slice(middle)]) {
      // They are of one lane.
      const ends = await this.executeBatch({ queued: half, takeLate: () => [] });
      results.push(...(ends as readonly LaneResult[]));
    }
    return results;
  }

  #transact<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#options.pool.use(async (connection) => {
      try {
        return await work(connection);
      } catch (error) {
        await rollBack(connection);
        throw error;
      }
    });
  }
}

/** A rest was noticed and has been ended: the batch can be decided now. */
interface Resumed {
  readonly kind: 'resumed';
}

interface Failed {
  readonly kind: 'failed';
  readonly error: unknown;
}

function waitAfter(attempt: number): Promise<void> {
  return delay(backOffMs(attempt, BACK_OFF, Math.random()));
}

/** Nothing was committed, and another attempt may succeed: this one met others, or lost its connection. */
function mayTryAgain(error: unknown): boolean {
  // A lost connection is replaced at once. One that cannot be opened is a fault, which is not retried.
  return isRetryable(error) || (isConnectionLost(error) && !(error instanceof Fault));
}
