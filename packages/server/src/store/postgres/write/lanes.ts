import type { Command } from '../../../core/command.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import type { CommandResult } from '../../engine/execute-command.ts';
import type { Executed } from '../../store.ts';
import type { StoreTally } from '../../store-tally.ts';
import type { Lane } from './scope.ts';

interface Waiter {
  readonly command: Command;
  /** How often it was sent to another lane. */
  readonly moves: number;
  resolve(outcome: Executed): void;
  reject(error: unknown): void;
}

interface Queue {
  readonly lane: Lane;
  readonly waiters: Waiter[];
}

/** `other_lane`: nothing was done, because the licenses changed and the command belongs elsewhere now. */
export type LaneResult = CommandResult | 'other_lane';

interface LaneOptions {
  route(command: Command): Lane;
  execute(lane: Lane, commands: readonly Command[]): Promise<readonly LaneResult[]>;
  readonly maxBatch: number;
  readonly tally: StoreTally;
}

/** Each move means that a license was added or removed in between: more in a row is no coincidence. */
const MAX_MOVES = 10;

/**
 * Commands that have to wait for each other wait here, not in the database: while one batch of a lane is
 * under way the next one fills, and all of it shares one transaction. Lanes do not wait for each other. The
 * lane follows from what this server knows of the licenses; the transaction checks it, and a command that
 * turns out to belong elsewhere is queued again there. When a batch fails, all of its commands do.
 */
export class Lanes {
  readonly #options: LaneOptions;
  readonly #queues = new Map<string, Queue>();
  #drained: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  submit(command: Command): Promise<Executed> {
    return new Promise((resolve, reject) => this.#enqueue({ command, moves: 0, resolve, reject }));
  }

  #enqueue(waiter: Waiter): void {
    const lane = this.#route(waiter);
    if (lane === null) return;
    const queue = this.#queues.get(lane.name);
    if (queue !== undefined) {
      queue.waiters.push(waiter);
      return;
    }
    const started = { lane, waiters: [waiter] };
    this.#queues.set(lane.name, started);
    // After the sockets that are readable now have been read, so that their requests share a batch.
    setImmediate(() => void this.#work(started));
  }

  /** Something that is not a command has no lane. */
  #route({ command, reject }: Waiter): Lane | null {
    try {
      return this.#options.route(command);
    } catch (error) {
      reject(error);
      return null;
    }
  }

  /** Resolves when everything that was submitted has been answered. */
  drain(): Promise<void> {
    if (this.#queues.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  async #work({ lane, waiters }: Queue): Promise<void> {
    while (waiters.length > 0) await this.#workBatch(lane, waiters.splice(0, this.#options.maxBatch));
    this.#queues.delete(lane.name);
    if (this.#queues.size > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  async #workBatch(lane: Lane, batch: readonly Waiter[]): Promise<void> {
    try {
      const results = await this.#options.execute(
        lane,
        batch.map(({ command }) => command),
      );
      this.#options.tally.noteBatch(batch.length);
      for (const [index, waiter] of batch.entries()) this.#settle(waiter, results[index] as LaneResult);
    } catch (error) {
      for (const waiter of batch) waiter.reject(error);
    }
  }

  #settle(waiter: Waiter, result: LaneResult): void {
    if (result !== 'other_lane') {
      if ('outcome' in result) {
        this.#options.tally.note(waiter.command, result.outcome);
        waiter.resolve(result.outcome);
      } else waiter.reject(result.error);
    } else if (waiter.moves < MAX_MOVES) {
      this.#enqueue({ ...waiter, moves: waiter.moves + 1 });
    } else {
      waiter.reject(new Fault('store_unavailable', 'The licenses change too often. Try again in a moment.'));
    }
  }
}
