import { backOffMs } from '../back-off.ts';
import { BerthError, DeniedError, StorageError, UnreachableError } from '../errors.ts';
import type { Account } from '../lending/account.ts';
import { Listeners, type Names } from '../listeners.ts';
import { REFUSES_COUNT } from '../refusals.ts';
import { type CountOptions, type CountTarget, describeCount, sendCount, type Total } from './count.ts';
import { type QueuedCount, StoredCounts, type StrayCount } from './stored-counts.ts';

export type { QueuedCount, StrayCount };

export interface QueueEvents {
  sent: { readonly count: QueuedCount; readonly total: Total };
  /** The server refuses this count for good. It is no longer in the queue. */
  refused: { readonly count: QueuedCount; readonly error: DeniedError };
  /** The queue waits: no server answers, the license cannot be used, or files cannot. Emitted once. */
  blocked: { readonly error: BerthError };
  /**
   * It may have been counted, and the server no longer remembers its key. It stays until `settle` is called.
   */
  uncertain: { readonly count: QueuedCount };
}

const QUEUE_EVENTS: Names<QueueEvents> = { sent: true, refused: true, blocked: true, uncertain: true };

/** Servers remember a key for a day; an hour is left for clocks that differ. */
const KEY_LASTS_MS = 23 * 3_600_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Counts are stored first and sent in order, each under its own key, so each counts once, whatever happens to
 * the program, the network or the server. Programs may share a queue. A count belongs to a server, and is
 * never sent to another one.
 */
export class CountQueue {
  readonly #account: Account;
  readonly #findTarget: () => CountTarget;
  readonly #events: Listeners<QueueEvents>;
  readonly #counts: StoredCounts;
  #underway: Promise<void> | null = null;
  #isClosed = false;
  #isBlocked = false;
  #failures = 0;
  #cancelTimer: () => void = () => {};

  /** @internal */
  constructor(account: Account, findTarget: () => CountTarget) {
    this.#account = account;
    this.#findTarget = findTarget;
    this.#counts = new StoredCounts(account);
    this.#events = new Listeners(QUEUE_EVENTS, (error) => account.environment.reportError(error));
    this.#schedule(0);
  }

  on<Name extends keyof QueueEvents>(name: Name, listener: (event: QueueEvents[Name]) => void): () => void {
    return this.#events.on(name, listener);
  }

  /** Resolves when the count is stored: it will be sent even if the program ends. */
  async add(count = 1, options: Pick<CountOptions, 'feature' | 'key'> = {}): Promise<void> {
    const newKey = () => this.#account.environment.createId();
    await this.#counts.add({ ...describeCount(this.#findTarget(), count, options, newKey), triedAtMs: null });
    if (this.#failures === 0) this.#schedule(0);
  }

  /**
   * The counts that wait for this server, oldest first. Before a server has answered this program, all that
   * may be for it.
   */
  async list(): Promise<readonly QueuedCount[]> {
    return this.#counts.readAll(await this.#counts.listOwn());
  }

  /** The counts of this product that lie there for another server. They are not sent to this one. */
  listOthers(): Promise<readonly StrayCount[]> {
    return this.#counts.readOthers();
  }

  /** Sends what waits now. Resolves with whether the queue is empty. */
  async flush(): Promise<boolean> {
    await this.#underway;
    this.#cancelTimer();
    await this.#run();
    return (await this.#counts.listOwn()).length === 0;
  }

  /** Says whether an uncertain count was counted. If not, it is sent under a new key. */
  async settle(key: string, wasCounted: boolean): Promise<void> {
    await this.#counts.settle(key, wasCounted);
    if (!wasCounted && this.#failures === 0) this.#schedule(0);
  }

  /** Stops sending. What is stored is sent by the next queue. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer();
    await this.#underway;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer();
    if (this.#isClosed) return;
    this.#cancelTimer = this.#account.environment.setTimer(delayMs, () => void this.#run(), 'background');
  }

  #run(): Promise<void> {
    this.#underway ??= this.#sendAll()
      .catch((error) => this.#block(error instanceof BerthError ? error : new StorageError(error)))
      .finally(() => {
        this.#underway = null;
      });
    return this.#underway;
  }

  async #sendAll(): Promise<void> {
    const seen = new Set<string>();
    const listNew = async () => {
      // Without counts, no server is asked.
      if (this.#counts.store === undefined && (await this.#counts.listOwn()).length === 0) return [];
      await this.#counts.bind();
      return (await this.#counts.listOwn()).filter((name) => !seen.has(name));
    };
    for (let names = await listNew(); names.length > 0; names = await listNew()) {
      for (const name of names) {
        seen.add(name);
        if (this.#isClosed || !(await this.#sendOne(name))) return;
      }
    }
    // Nothing blocks the next count, even if an uncertain one stays.
    this.#failures = 0;
    this.#isBlocked = false;
  }

  /** Whether the next one may be sent. */
  async #sendOne(name: string): Promise<boolean> {
    const { readWallMs } = this.#account.environment;
    const stored = await this.#counts.read(name);
    if (stored === null) return true;
    const count = { ...stored, triedAtMs: stored.triedAtMs ?? readWallMs() };
    if (readWallMs() - count.triedAtMs > KEY_LASTS_MS) {
      this.#events.emit('uncertain', { count });
      return true;
    }
    // Stored before it is sent: after a crash, it may have been counted.
    if (stored.triedAtMs === null) await this.#counts.write(name, count);
    try {
      const total = await sendCount(this.#account, count, this.#counts.store);
      await this.#counts.remove(name);
      this.#failures = 0;
      this.#isBlocked = false;
      this.#events.emit('sent', { count, total });
      return true;
    } catch (error) {
      if (stored.triedAtMs === null && wasNotCounted(error)) await this.#counts.write(name, stored);
      return this.#acceptError(name, count, error);
    }
  }

  async #acceptError(name: string, count: QueuedCount, error: unknown): Promise<boolean> {
    if (error instanceof DeniedError && REFUSES_COUNT.has(error.code)) {
      await this.#counts.remove(name);
      this.#events.emit('refused', { count, error });
      return true;
    }
    if (!(error instanceof DeniedError || error instanceof UnreachableError)) throw error;
    this.#block(error);
    return false;
  }

  #block(error: BerthError): void {
    this.#schedule(backOffMs(this.#failures, LONGEST_PAUSE_MS, this.#account.environment.random));
    this.#failures += 1;
    if (!this.#isBlocked) this.#events.emit('blocked', { error });
    this.#isBlocked = true;
  }
}

/** Whether no server has counted it. Then it can wait as long as it has to. */
function wasNotCounted(error: unknown): boolean {
  if (error instanceof DeniedError) return error.code === 'wrong_store';
  return error instanceof UnreachableError && error.attempts.every(({ mayHaveArrived }) => !mayHaveArrived);
}
