import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import type { ProductLimit } from '../../core/access/role.ts';
import { Fault } from '../../core/nouns/fault.ts';
import { type Instant, instant, plus } from '../../core/nouns/instant.ts';
import type { StoreNotice } from '../../core/nouns/store-notice.ts';
import type { RotateMasterKey } from '../../core/system-command.ts';
import { fingerprint, type MasterKey } from '../../secrets/seal.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Answer, CHECK_FILE, type Query } from '../query.ts';
import type { ClockStatus, Executed, LineDescription, Store } from '../store.ts';
import { type PoolUse, StoreTally } from '../store-tally.ts';
import { TurnSignal } from '../turn-signal.ts';
import { needsMasterKey, type ReaderOptions } from './read/reader.ts';
import { FileCheck } from './threads/file-check.ts';
import { ReaderThread } from './threads/reader-client.ts';
import { packCommand, type SentCommand } from './threads/sent-commands.ts';
import { ResultReceiver } from './threads/sent-results.ts';
import { type FromWriter, storeFault, type ThreadData, type ToWriter } from './threads/thread-messages.ts';
import { Verifier } from './threads/verifier.ts';
import { damageFault } from './wire/damage.ts';
import { GroupCommit } from './write/group-commit.ts';

interface ThreadedOptions extends ThreadData {
  readonly onNotice: (notice: StoreNotice) => void;
}

/**
 * Opens the store in threads: one owns the SQLite file and writes, so that a slow sync never holds up HTTP;
 * one answers queries, so that no report holds up a heartbeat; and one is started for what takes long, which
 * is to verify the audit log, and to check the file. If the writing or the reading
 * thread ends, the store is lost: everything that waits fails, and nothing is acknowledged any more.
 */
export async function openThreadedStore(options: ThreadedOptions): Promise<Store> {
  const store = new ThreadedStore(options);
  await store.open();
  return store;
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

const NOBODY = { waiting: 0, places: [] };

class ThreadedStore implements Store {
  readonly tally = new StoreTally();
  readonly turns = new TurnSignal();
  readonly #options: ThreadedOptions;
  readonly #clock: Clock = systemClock;
  readonly #writer: Worker;
  readonly #queue: GroupCommit;
  readonly #received = new ResultReceiver();
  readonly #verifier: Verifier<{ readonly kind: 'verify_audit' }>;
  readonly #examiner: Verifier<typeof CHECK_FILE>;
  readonly #fileCheck: FileCheck;
  readonly #reader: ReaderThread;
  /** The keys that secrets may be sealed with: one, or two while it is being replaced. */
  #masterKeys: readonly MasterKey[];
  #clockWaiters: Waiting<ClockStatus>[] = [];
  #lineReaders: Waiting<LineDescription>[] = [];
  #opening = Promise.withResolvers<void>();
  #closing = Promise.withResolvers<void>();
  #isHealthy = true;
  #isClosing = false;
  /** The file is damaged: nothing can be relied on any more, and nothing must be acknowledged. */
  #damage: Fault | null = null;
  /** The writer's time in its last message, and when that arrived. */
  #heard: { now: Instant; atMs: number } = { now: instant(0), atMs: 0 };

  constructor(options: ThreadedOptions) {
    this.#options = options;
    const { file, masterKey, nextMasterKey = null, ignoresCase } = options;
    this.#masterKeys = nextMasterKey === null ? [masterKey] : [masterKey, nextMasterKey];
    const data: ThreadData = { file, masterKey, nextMasterKey, ignoresCase };
    this.#writer = startThread(new URL('./threads/writer-thread.ts', import.meta.url), data);
    this.#reader = startReader(file, (error) => this.#lose(error));
    this.#queue = new GroupCommit((commands) => this.#post(commands.map(packCommand)), this.tally);
    const openThread = () => startReader(file, () => {});
    const readMasterKeys = () => this.#masterKeys;
    this.#verifier = new Verifier({ query: { kind: 'verify_audit' }, openThread, readMasterKeys });
    this.#examiner = new Verifier({ query: CHECK_FILE, openThread, readMasterKeys });
    this.#fileCheck = new FileCheck({
      openThread,
      onDamage: (detail) => this.#noteDamage(damageFault(file, `SQLite says: ${detail}`)),
    });
    this.#writer.on('message', (text: string) => this.#hear(JSON.parse(text)));
    this.#writer.on('error', (error) => this.#lose(error));
    this.#writer.on('exit', () => {
      this.#closing.resolve();
      this.#lose(new Error('The writing thread has ended.'));
    });
  }

  async open(): Promise<void> {
    try {
      await this.#opening.promise;
      if (this.#isHealthy) await this.keepClock();
    } catch (error) {
      // The caller has nothing to close.
      await this.close();
      throw error;
    }
  }

  execute(...[command]: Parameters<Store['execute']>) {
    if (this.#isClosing) return refuseClosing();
    if (this.#damage !== null) return Promise.reject(storeFault(this.#damage));
    return command.kind === 'rotate_master_key' ? this.#rotate(command) : this.#queue.submit(command);
  }

  /** Until the change is acknowledged, a query may find the secrets sealed either way. */
  async #rotate(command: RotateMasterKey): Promise<Executed> {
    const newKey = command.newKey as MasterKey;
    const candidates = this.#masterKeys;
    this.#masterKeys = [...candidates, newKey];
    // Queries are answered in order, so those that do not know the new key are over after this one.
    const { sealedBy } = await this.read({ kind: 'describe_seal' });
    if (this.#isClosing) return refuseClosing();
    this.#masterKeys = [...candidates.filter((key) => fingerprint(key) === sealedBy), newKey];
    const outcome = await this.#queue.submit(command);
    this.#masterKeys = [newKey];
    return outcome;
  }

  read<Q extends Query>(query: Q, signal?: AbortSignal): Promise<Answer<Q>> {
    if (this.#isClosing) return refuseClosing();
    if (query.kind === 'verify_audit') return this.#verifier.verify(signal) as Promise<Answer<Q>>;
    if (query.kind === 'check_file') return this.#examiner.verify(signal) as Promise<Answer<Q>>;
    const masterKeys = needsMasterKey(query) ? this.#masterKeys : [];
    return this.#reader.query(query, this.#estimateNow(), masterKeys);
  }

  keepClock(): Promise<ClockStatus> {
    if (this.#isClosing) return refuseClosing();
    if (this.#damage !== null) return Promise.reject(storeFault(this.#damage));
    return new Promise((resolve, reject) => {
      this.#clockWaiters.push({ resolve, reject });
      this.#post({ kind: 'keep_clock' });
    });
  }

  listWaiting(products: ProductLimit = null): Promise<LineDescription> {
    if (this.#isClosing) return refuseClosing();
    return new Promise((resolve, reject) => {
      this.#lineReaders.push({ resolve, reject });
      this.#post({ kind: 'list_waiting', products });
    });
  }

  isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Nobody else uses the folder. */
  isLeader(): boolean {
    return true;
  }

  listPools(): readonly PoolUse[] {
    return [];
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#queue.drain();
    await this.#verifier.close();
    await this.#examiner.close();
    await this.#fileCheck.close();
    await this.#reader.close();
    this.#post({ kind: 'close' });
    await this.#closing.promise;
  }

  #post(message: ToWriter): void {
    this.#writer.postMessage(holdsKey(message) ? message : JSON.stringify(message));
  }

  #hear(message: FromWriter): void {
    switch (message.kind) {
      case 'ready':
        this.#opening.resolve();
        break;
      case 'ready_to_read':
        this.#noteFailure(message.message);
        this.#noteTime(message.now);
        this.#opening.resolve();
        break;
      case 'failed_to_open':
        this.#isClosing = true;
        this.#opening.reject(new Fault('store_unavailable', message.message));
        break;
      case 'executed':
        this.#hearExecuted(message);
        break;
      case 'batch_failed':
        this.#noteFailure(message.message);
        this.#queue.fail(storeFault(new Error(message.message)));
        break;
      case 'clock':
        this.#noteSuccess();
        this.#noteTime(message.status.now);
        this.#tell(message.notices);
        this.#clockWaiters.shift()?.resolve(message.status);
        break;
      case 'waiting':
        this.#lineReaders.shift()?.resolve(message.line ?? { ...NOBODY, now: this.#estimateNow() });
        break;
      case 'clock_failed':
        this.#noteFailure(message.message);
        this.#clockWaiters.shift()?.reject(storeFault(new Error(message.message)));
        break;
      case 'closed':
        this.#closing.resolve();
        break;
    }
  }

  #hearExecuted(message: FromWriter & { kind: 'executed' }): void {
    const { results, now, syncMs, notices, turns } = message;
    this.#noteSuccess();
    this.#noteTime(now);
    this.#tell(notices);
    this.#queue.settle(
      results.map((result) => this.#received.receive(result)),
      syncMs,
    );
    if (turns !== undefined) this.turns.tell(turns);
  }

  #noteFailure(error: string): void {
    if (this.#isHealthy) this.#options.onNotice({ kind: 'commit_failed', error });
    this.#isHealthy = false;
  }

  #noteSuccess(): void {
    this.#isHealthy = this.#damage === null;
  }

  #noteDamage(damage: Fault): void {
    this.#damage = damage;
    this.#noteFailure(damage.message);
  }

  #noteTime(now: Instant): void {
    this.#heard = { now, atMs: this.#clock.readMonotonicMs() };
  }

  /**
   * The writer's time, close enough for a list: it is refreshed every second. After a pause it stands still
   * until the writer has given slots their time back.
   */
  #estimateNow(): Instant {
    const elapsedMs = this.#clock.readMonotonicMs() - this.#heard.atMs;
    if (elapsedMs > this.#clock.restMs) return this.#heard.now;
    return plus(this.#heard.now, Math.floor(elapsedMs));
  }

  #tell(notices: readonly StoreNotice[]): void {
    for (const notice of notices) {
      if (notice.kind === 'store_recovered') this.#fileCheck.start();
      this.#options.onNotice(notice);
    }
  }

  /** A thread is gone: nothing can be stored any more, and nothing must be acknowledged. */
  #lose(error: unknown): void {
    this.#opening.reject(error);
    const isExpected = this.#isClosing;
    this.#isClosing = true;
    this.#queue.failAll(storeFault(error));
    const waiting = [...this.#clockWaiters.splice(0), ...this.#lineReaders.splice(0)];
    for (const { reject } of waiting) reject(storeFault(error));
    if (isExpected) return;
    this.#isHealthy = false;
    this.#options.onNotice({ kind: 'store_lost', error: String(error) });
  }
}

function holdsKey(message: ToWriter): boolean {
  return (
    Array.isArray(message) &&
    message.some((sent: SentCommand) => 'kind' in sent && sent.kind === 'rotate_master_key')
  );
}

function refuseClosing(): Promise<never> {
  return Promise.reject(storeFault(new Error('The store is closing.')));
}

/** What a batch makes is garbage after it. With more room for that, a thread only takes more memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

function startThread(code: URL, workerData: ThreadData | ReaderOptions): Worker {
  const bundled = findBundledFile(`server/src/store/sqlite/threads/${basename(code.pathname)}`);
  if (bundled === undefined) return new Worker(code, { workerData, resourceLimits });
  // Otherwise Node would parse the code once more, to find out what it is.
  return new Worker(bundled, { eval: true, workerData, resourceLimits, execArgv: ['--input-type=commonjs'] });
}

function startReader(file: string, onLost: (error: unknown) => void): ReaderThread {
  return new ReaderThread(
    startThread(new URL('./threads/reader-thread.ts', import.meta.url), { file }),
    onLost,
  );
}
