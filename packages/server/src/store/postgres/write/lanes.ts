import type { Command } from '../../../core/command.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import type { CommandResult } from '../../engine/execute.ts';
import type { Executed } from '../../store.ts';
import type { StoreTally } from '../../store-tally.ts';
import { canShareTransaction, type Lane, type QueuedCommand } from './scope.ts';

interface Waiter extends QueuedCommand {
  /** How often it was sent to another lane. */
  readonly moves: number;
  resolve(outcome: Executed): void;
  reject(error: unknown): void;
}

/**
 * Nothing was done, because the licenses have changed. `other_lane`: the command belongs elsewhere now;
 * `again`: others in the transaction did.
 */
export type LaneResult = CommandResult | 'other_lane' | 'again';

/** Commands that share a transaction. */
export interface SharedCommands {
  /** In the order in which they are decided. */
  readonly queued: readonly QueuedCommand[];
  /** Adds those of the same lanes that have come meanwhile, if they are many, and returns them. */
  takeLate(): readonly QueuedCommand[];
}

interface LaneOptions {
  route(command: Command): Lane;
  /** `apart`: nothing was done; commands of different lanes must not share this transaction. */
  execute(commands: SharedCommands): Promise<readonly LaneResult[] | 'apart'>;
  /** Whether another server works on the same licenses. */
  hasRival(): boolean;
  readonly maxBatch: number;
  readonly tally: StoreTally;
}

/** One transaction, and whose commands it carries. */
interface Run {
  readonly lanes: Set<string>;
  readonly waiters: Waiter[];
  /** Commands of other lanes may join. */
  readonly isShared: boolean;
}

/** Each move means that a license was added or removed in between: more in a row is no coincidence. */
const MAX_MOVES = 10;

/** Fewer of those that have come meanwhile are not worth another round trip: they wait for the next one. */
const LATE_SHARE = 0.5;

/** Beside another server a batch waits until most of those who were answered last have asked again. */
const GATHERED_SHARE = 0.875;
/** That server has the locks for about as long. */
const GATHER_MS = 1;

/**
 * Commands wait here, not in the database: while one transaction is under way the next one fills. A lane has
 * one transaction under way at a time, so its commands are decided in the order in which they came. What
 * clients ask for shares one transaction at a time, whatever the lane; anything else has a transaction for
 * its lane alone, beside it. A shared transaction that fails, or that meets a lock which somebody holds for
 * long, is split: each of its lanes goes on alone, so that none waits or fails for another. Where servers
 * take turns on a license, a batch gathers for a moment before it asks for the locks: it would wait for them
 * anyway.
 *
 * The lane follows from what this server knows of the licenses; the transaction checks it, and a command that
 * turns out to belong elsewhere is queued again there.
 */
export class Lanes {
  readonly #options: LaneOptions;
  /** In the order in which they came. */
  #waiting: Waiter[] = [];
  /** Lanes with a transaction under way. */
  readonly #busy = new Set<string>();
  #isSharing = false;
  #isStarting = false;
  /** Commands of the last shared transaction, and those that waited at its end. */
  #circulating = 0;
  #gathering: NodeJS.Timeout | null = null;
  #hasGathered = false;
  #drained: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  submit(command: Command): Promise<Executed> {
    return new Promise((resolve, reject) => this.#enqueue({ command, moves: 0, resolve, reject }));
  }

  #enqueue(waiter: Omit<Waiter, 'lane'>): void {
    const lane = this.#route(waiter);
    if (lane === null) return;
    this.#waiting.push({ ...waiter, lane });
    const mustWait = this.#busy.has(lane.name) || (this.#isSharing && canShareTransaction(waiter.command));
    if (mustWait || this.#isStarting) return;
    this.#isStarting = true;
    // After the sockets that are readable now have been read, so that their requests share a batch.
    setImmediate(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  /** Something that is not a command has no lane. */
  #route({ command, reject }: Omit<Waiter, 'lane'>): Lane | null {
    try {
      return this.#options.route(command);
    } catch (error) {
      reject(error);
      return null;
    }
  }

  /** Resolves when everything that was submitted has been answered. */
  drain(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#busy.size === 0;
  }

  /** Starts whatever need not wait. */
  #start(): void {
    for (const run of this.#takeRuns()) void this.#work(run);
    if (!this.#isIdle()) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Whether to wait for more before the next shared transaction. */
  #mustGather(): boolean {
    const { hasRival, maxBatch } = this.#options;
    const enough = Math.min(maxBatch, this.#circulating * GATHERED_SHARE);
    const count = this.#waiting.length;
    if (count === 0 || count >= enough || this.#hasGathered || !hasRival()) return false;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      this.#hasGathered = true;
      this.#start();
    }, GATHER_MS);
    return true;
  }

  #endGathering(): void {
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    this.#gathering = null;
    this.#hasGathered = false;
  }

  #takeRuns(): readonly Run[] {
    const runs: Run[] = [];
    const byLane = new Map<string, Run | null>();
    let shared: Run | null =
      this.#isSharing || this.#mustGather() ? null : { lanes: new Set(), waiters: [], isShared: true };
    const open = (waiter: Waiter): Run | null => {
      if (this.#busy.has(waiter.lane.name)) return null;
      const run = canShareTransaction(waiter.command)
        ? shared
        : { lanes: new Set<string>(), waiters: [], isShared: false };
      if (run !== null && run.waiters.length === 0) runs.push(run);
      return run;
    };
    const left = this.#waiting.filter((waiter) => {
      const { name } = waiter.lane;
      const run = byLane.getOrInsertComputed(name, () => open(waiter));
      const joins =
        run !== null && this.#hasRoom(run) && (!run.isShared || canShareTransaction(waiter.command));
      if (joins) {
        run.lanes.add(name);
        run.waiters.push(waiter);
        if (run === shared && !this.#hasRoom(run)) shared = null;
      } else {
        // Those behind it in the lane must not overtake it.
        byLane.set(name, null);
      }
      return !joins;
    });
    this.#waiting = left;
    return runs;
  }

  #hasRoom({ waiters }: Run): boolean {
    return waiters.length < this.#options.maxBatch;
  }

  async #work(run: Run): Promise<void> {
    for (const name of run.lanes) this.#busy.add(name);
    if (run.isShared) {
      this.#isSharing = true;
      this.#endGathering();
    }
    const isSplit = (await this.#execute(run)) === 'apart';
    if (run.isShared) {
      this.#isSharing = false;
      this.#circulating = run.waiters.length + this.#waiting.length;
    }
    if (isSplit) for (const part of split(run)) void this.#work(part);
    else for (const name of run.lanes) this.#busy.delete(name);
    this.#start();
  }

  async #execute(run: Run): Promise<'done' | 'apart'> {
    const { waiters } = run;
    try {
      const takeLate = () => (run.isShared ? this.#takeLate(run) : []);
      const results = await this.#options.execute({ queued: waiters, takeLate });
      if (results === 'apart') return results;
      this.#options.tally.batchSizes.note(waiters.length);
      for (const [index, waiter] of waiters.entries()) this.#settle(waiter, results[index] as LaneResult);
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error);
    }
    return 'done';
  }

  #takeLate(run: Run): readonly Waiter[] {
    const blocked = new Set<string>();
    const room = this.#options.maxBatch - run.waiters.length;
    const late = this.#waiting.filter(({ lane, command }) => {
      if (!run.lanes.has(lane.name) || blocked.has(lane.name)) return false;
      if (!canShareTransaction(command)) blocked.add(lane.name);
      return !blocked.has(lane.name);
    });
    if (late.length < run.waiters.length * LATE_SHARE) return [];
    late.splice(room);
    run.waiters.push(...late);
    const joined = new Set(late);
    this.#waiting = this.#waiting.filter((waiter) => !joined.has(waiter));
    return late;
  }

  #settle(waiter: Waiter, result: LaneResult): void {
    if (result === 'again') {
      this.#enqueue(waiter);
    } else if (result !== 'other_lane') {
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

/** One run for each lane. */
function split({ lanes, waiters }: Run): readonly Run[] {
  return [...lanes].map((name) => ({
    lanes: new Set([name]),
    waiters: waiters.filter(({ lane }) => lane.name === name),
    isShared: false,
  }));
}
