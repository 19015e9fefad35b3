import type { Worker } from 'node:worker_threads';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { Answer, Query } from '../../query.ts';
import { type FromReader, storeFault, type ToReader } from './thread-messages.ts';

const ENDED = 'The reading thread has ended.';

interface Waiting {
  resolve(answer: never): void;
  reject(error: unknown): void;
}

/** Talks to a reading thread. Once the thread has ended, every query fails. */
export class ReaderThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isLost = false;
  #ended = Promise.withResolvers<void>();

  constructor(worker: Worker, onLost: (error: unknown) => void) {
    this.#worker = worker;
    const lose = (error: unknown) => {
      this.#isLost = true;
      this.#failAll(error);
      onLost(error);
    };
    worker.on('message', (message: FromReader) => this.#hear(message));
    worker.on('error', lose);
    worker.on('exit', () => {
      this.#ended.resolve();
      lose(new Error(ENDED));
    });
  }

  query<Q extends Query>(query: Q, now: Instant, masterKeys: readonly MasterKey[]): Promise<Answer<Q>> {
    if (this.#isLost) return Promise.reject(storeFault(new Error(ENDED)));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, query, now, masterKeys } satisfies ToReader);
    });
  }

  close(): Promise<void> {
    this.#worker.postMessage('close');
    return this.#ended.promise;
  }

  /** Ends the thread without waiting for its answers. */
  async cut(): Promise<void> {
    await this.#worker.terminate();
  }

  #hear(message: FromReader): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('answer' in message) waiting?.resolve(message.answer as never);
    else waiting?.reject(storeFault(new Error(message.message)));
  }

  #failAll(error: unknown): void {
    for (const waiting of this.#waiting.values()) waiting.reject(storeFault(error));
    this.#waiting.clear();
  }
}
