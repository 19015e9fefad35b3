import { backOffMs } from '../back-off.ts';
import { type BerthError, DeniedError, StorageError, UnreachableError } from '../errors.ts';
import type { Account } from '../lending/account.ts';
import { Listeners } from '../listeners.ts';
import { nameOf } from '../storage-name.ts';
import { type Count, type CountOptions, describeCount, sendCount, type Total } from './count.ts';

/** A count that waits in the queue. */
export interface QueuedCount extends Count {
  /** When it was first sent without an answer, by the wall clock; `null` if it never was. */
  readonly triedAtMs: number | null;
}

export interface QueueEvents {
  sent: { readonly count: QueuedCount; readonly total: Total };
  /** The server refuses this count for good. It is no longer in the queue. */
  refused: { readonly count: QueuedCount; readonly error: DeniedError };
  /** The queue waits: no server answers, the license cannot be used, or files cannot. Told once. */
  blocked: { readonly error: BerthError };
  /**
   * It may have been counted, and the server no longer remembers its key. It stays until `settle` is called.
   */
  uncertain: { readonly count: QueuedCount };
}

/** These concern the count itself. All other refusals may change, so the count waits. */
const FINAL = new Set([
  'license_not_enough_consumptions',
  'feature_not_enough_consumptions',
  'license_not_consumption',
  'feature_not_consumption',
  'invalid_license_feature_code',
  'idempotency_key_reused',
  'validation_error',
]);

/** Servers remember a key for a day; an hour is left for clocks that differ. */
const KEY_LASTS_MS = 23 * 3_600_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Counts are stored first and sent in order, each under its own key, so each counts once, whatever happens to
 * the program, the network or the server. Programs may share a queue.
 */
export class CountQueue {
  readonly #account: Account;
  readonly #events: Listeners<QueueEvents>;
  readonly #prefix: string;
  #underway: Promise<void> | null = null;
  #isClosed = false;
  #isBlocked = false;
  #failures = 0;
  #added = 0;
  #cancelTimer: () => void = () => {};

  /** @internal */
  constructor(account: Account) {
    this.#account = account;
    this.#prefix = nameOf('count', account.product);
    this.#events = new Listeners((error) => account.environment.reportError(error));
    this.#schedule(0);
  }

  on<Name extends keyof QueueEvents>(name: Name, listener: (event: QueueEvents[Name]) => void): () => void {
    return this.#events.on(name, listener);
  }

  /** Resolves when the count is stored: it will be sent even if the program ends. */
  async add(count = 1, options: Pick<CountOptions, 'feature' | 'key'> = {}): Promise<void> {
    const queued: QueuedCount = { ...describeCount(this.#account, count, options), triedAtMs: null };
    await this.#store(this.#nextName(queued.key), queued);
    if (this.#failures === 0) this.#schedule(0);
  }

  /** The counts that wait, oldest first. */
  async list(): Promise<readonly QueuedCount[]> {
    const { storage } = this.#account.environment;
    const names = await storage.list(this.#prefix);
    const counts = await Promise.all(names.map(async (name) => readCount(await storage.read(name))));
    return counts.filter((count) => count !== null);
  }

  /** Sends what waits now. Resolves with whether the queue is empty. */
  async flush(): Promise<boolean> {
    await this.#underway;
    this.#cancelTimer();
    await this.#run();
    return (await this.#account.environment.storage.list(this.#prefix)).length === 0;
  }

  /** Says whether an uncertain count was counted. If not, it is sent under a new key. */
  async settle(key: string, wasCounted: boolean): Promise<void> {
    const { storage, createId } = this.#account.environment;
    for (const name of await storage.list(this.#prefix)) {
      const count = readCount(await storage.read(name));
      if (count?.key !== key) continue;
      if (!wasCounted)
        await this.add(Number(count.body.consumptions), { ...featureOf(count), key: createId() });
      await storage.remove(name);
    }
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
      .catch((error) => this.#block(new StorageError(error)))
      .finally(() => {
        this.#underway = null;
      });
    return this.#underway;
  }

  async #sendAll(): Promise<void> {
    const { storage } = this.#account.environment;
    for (let names = await storage.list(this.#prefix); names.length > 0; ) {
      for (const name of names) if (this.#isClosed || !(await this.#sendOne(name))) return;
      const seen = new Set(names);
      names = (await storage.list(this.#prefix)).filter((name) => !seen.has(name));
    }
    // Nothing is in the way of the next count, even if the last one that was is uncertain by now.
    this.#failures = 0;
    this.#isBlocked = false;
  }

  /** Whether the next one may be sent. */
  async #sendOne(name: string): Promise<boolean> {
    const { storage, readWallMs } = this.#account.environment;
    const stored = readCount(await storage.read(name));
    if (stored === null) return true;
    const count = { ...stored, triedAtMs: stored.triedAtMs ?? readWallMs() };
    if (readWallMs() - count.triedAtMs > KEY_LASTS_MS) {
      this.#events.emit('uncertain', { count });
      return true;
    }
    // Before it is sent: afterwards, nobody knows whether it was.
    if (stored.triedAtMs === null) await this.#store(name, count);
    try {
      const total = await sendCount(this.#account, count);
      await storage.remove(name);
      this.#failures = 0;
      this.#isBlocked = false;
      this.#events.emit('sent', { count, total });
      return true;
    } catch (error) {
      if (stored.triedAtMs === null && wasNotCounted(error)) await this.#store(name, stored);
      return this.#acceptError(name, count, error);
    }
  }

  async #acceptError(name: string, count: QueuedCount, error: unknown): Promise<boolean> {
    if (error instanceof DeniedError && FINAL.has(error.code)) {
      await this.#account.environment.storage.remove(name);
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

  async #store(name: string, count: QueuedCount): Promise<void> {
    await this.#account.environment.storage.write(name, JSON.stringify(count));
  }

  /** Sorted by time, and by the order of the calls within a millisecond. */
  #nextName(key: string): string {
    this.#added += 1;
    const at = String(Math.trunc(this.#account.environment.readWallMs())).padStart(15, '0');
    const order = String(this.#added % 1e6).padStart(6, '0');
    return `${this.#prefix}${at}-${order}-${key.replace(/[^\w-]/g, '_').slice(0, 64)}`;
  }
}

function featureOf({ body }: Count): { readonly feature?: string } {
  return typeof body.feature === 'string' ? { feature: body.feature } : {};
}

/** Then it can wait as long as it has to: nothing has counted it yet. */
function wasNotCounted(error: unknown): boolean {
  return error instanceof UnreachableError && error.attempts.every(({ mayHaveArrived }) => !mayHaveArrived);
}

/**
 * `null` if another program has sent it meanwhile, or if the file is damaged: then nobody knows what it was.
 */
function readCount(text: string | null): QueuedCount | null {
  try {
    return JSON.parse(text ?? 'null') as QueuedCount | null;
  } catch {
    return null;
  }
}
