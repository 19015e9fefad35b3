import type { Command } from '../../../core/command.ts';
import type { CommandResult } from '../../engine/execute-command.ts';
import type { Executed } from '../../store.ts';
import type { Lane } from './scope.ts';

interface Waiter {
  readonly command: Command;
  resolve(outcome: Executed): void;
  reject(error: unknown): void;
}

interface Queue {
  readonly lane: Lane;
  readonly waiters: Waiter[];
}

/** What became of which licenses there are: some of the commands belong into another lane. */
export class OtherLane extends Error {}

export interface LaneOptions {
  route(command: Command): Lane;
  /** Throws `OtherLane` when nothing was done. */
  execute(lane: Lane, commands: readonly Command[]): Promise<readonly CommandResult[]>;
  readonly maxBatch: number;
}

/**
 * Commands that have to wait for each other wait here, not in the database: while one batch of a lane is
 * under way the next one fills, and all of it shares one transaction. Lanes do not wait for each other.
 */
export class Lanes {
  readonly #options: LaneOptions;
  readonly #queues = new Map<string, Queue>();
  #drained: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  submit(command: Command): Promise<Executed> {
    return new Promise((resolve, reject) => this.#enqueue({ command, resolve, reject }));
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

  /** What is no command at all has no lane. */
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
      for (const [index, waiter] of batch.entries()) settle(waiter, results[index] as CommandResult);
    } catch (error) {
      for (const waiter of batch) {
        if (error instanceof OtherLane) this.#enqueue(waiter);
        else waiter.reject(error);
      }
    }
  }
}

function settle(waiter: Waiter, result: CommandResult): void {
  if ('outcome' in result) waiter.resolve(result.outcome);
  else waiter.reject(result.error);
}
