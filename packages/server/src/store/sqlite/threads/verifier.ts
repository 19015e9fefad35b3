import { instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { SharedRun } from '../../engine/shared-run.ts';
import type { Answer, Query } from '../../query.ts';
import type { ReaderThread } from './reader-client.ts';
import { storeFault } from './thread-messages.ts';

interface VerifierOptions<Q> {
  /** What to ask. */
  readonly query: Q;
  /** Opens a thread with a connection of its own, for one answer. */
  readonly openThread: () => ReaderThread;
  /** All keys that may seal the secrets at this moment; a new list when they change. */
  readonly readMasterKeys: () => readonly MasterKey[];
}

/** Verifies the audit log or the file in a thread of its own, because no other query should wait for it. */
export class Verifier<Q extends Query> {
  readonly #options: VerifierOptions<Q>;
  readonly #checking = new SharedRun((signal) => this.#run(signal));
  #thread: ReaderThread | null = null;
  #isClosing = false;

  constructor(options: VerifierOptions<Q>) {
    this.#options = options;
  }

  verify(signal?: AbortSignal): Promise<Answer<Q>> {
    return this.#checking.ask(signal);
  }

  /** Cancels a check, which may take minutes and writes nothing. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#thread?.cut();
    await this.#checking.settle();
  }

  async #run(signal: AbortSignal): Promise<Answer<Q>> {
    if (this.#isClosing) throw storeFault(new Error('The store is closing.'));
    signal.throwIfAborted();
    const thread = this.#options.openThread();
    this.#thread = thread;
    const cut = () => void thread.cut();
    signal.addEventListener('abort', cut);
    try {
      return await this.#ask(thread);
    } finally {
      signal.removeEventListener('abort', cut);
      await thread.close();
      this.#thread = null;
    }
  }

  /** The secrets may be sealed again before the thread opens them. */
  async #ask(thread: ReaderThread): Promise<Answer<Q>> {
    const { query, readMasterKeys } = this.#options;
    for (;;) {
      const masterKeys = readMasterKeys();
      try {
        return await thread.query(query, NO_TIME, masterKeys);
      } catch (error) {
        if (readMasterKeys() === masterKeys) throw error;
      }
    }
  }
}

/** Verifying does not depend on the time. */
const NO_TIME = instant(0);
