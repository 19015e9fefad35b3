import { availableParallelism } from 'node:os';
import type { Command } from '../../../core/command.ts';
import type { CommandResult } from '../../engine/execute.ts';
import type { Executed } from '../../store.ts';
import type { StoreTally } from '../../store-tally.ts';

interface Waiter {
  readonly command: Command;
  resolve(outcome: Executed): void;
  reject(error: unknown): void;
}

/** Most commands of a batch, so that its first command does not wait for ever. */
const MAX_BATCH = 512;

/** How often the sockets are read before a batch is sent, at most, although each time brought more. */
const MAX_READS = 10;

/**
 * Gathers commands that arrive together and sends them as one batch, so that they share a sync. While one
 * batch is being written the next one fills: a second one under way would only make both smaller. Each caller
 * hears back when its batch is on disk, or failed.
 *
 * `isAlone`: the process has a single core, so the writer cannot work while this thread does. Then a batch
 * also waits for the clients that were answered just now and have asked again: nothing is gained by sending
 * half of the commands first, and each batch has its cost.
 */
export class GroupCommit {
  readonly #send: (commands: readonly Command[]) => void;
  readonly #tally: StoreTally;
  readonly #isAlone: boolean;
  #gathering: Waiter[] = [];
  /** The batch that was sent and not yet answered; empty: there is none. */
  #sent: readonly Waiter[] = [];
  #isSending = false;
  #drained: (() => void)[] = [];

  constructor(
    send: (commands: readonly Command[]) => void,
    tally: StoreTally,
    isAlone = availableParallelism() === 1,
  ) {
    this.#send = send;
    this.#tally = tally;
    this.#isAlone = isAlone;
  }

  submit(command: Command): Promise<Executed> {
    return new Promise((resolve, reject) => {
      this.#gathering.push({ command, resolve, reject });
      this.#sendSoon();
    });
  }

  /** The batch was committed; `syncMs`: how long that took, `null` if nothing changed. */
  settle(results: readonly CommandResult[], syncMs: number | null): void {
    this.#tally.batchSizes.note(results.length);
    if (syncMs !== null) this.#tally.syncSeconds.note(syncMs / 1000);
    for (const [index, waiter] of this.#takeSent().entries()) {
      const result = results[index] as CommandResult;
      if ('outcome' in result) {
        this.#tally.note(waiter.command, result.outcome);
        waiter.resolve(result.outcome);
      } else waiter.reject(result.error);
    }
    this.#goOn();
  }

  /** The batch was not committed. */
  fail(error: unknown): void {
    for (const waiter of this.#takeSent()) waiter.reject(error);
    this.#goOn();
  }

  /** Fails everything: there will be no more answers. */
  failAll(error: unknown): void {
    const waiters = [...this.#takeSent(), ...this.#gathering];
    this.#gathering = [];
    for (const waiter of waiters) waiter.reject(error);
    this.#goOn();
  }

  /** Resolves when everything that was submitted has been answered. */
  drain(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #takeSent(): readonly Waiter[] {
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  #isIdle(): boolean {
    return this.#gathering.length === 0 && this.#sent.length === 0;
  }

  #goOn(): void {
    if (this.#gathering.length > 0) this.#sendSoon();
    if (!this.#isIdle()) return;
    const waiting = this.#drained;
    this.#drained = [];
    for (const resolve of waiting) resolve();
  }

  /** After the sockets that are readable now have been read, so that their requests share a batch. */
  #sendSoon(): void {
    if (this.#isSending || this.#sent.length > 0) return;
    this.#isSending = true;
    this.#sendAfterReading(this.#isAlone ? MAX_READS : 1);
  }

  /** The first time may be too early for clients that were answered just now: it alone ends nothing. */
  #sendAfterReading(reads: number): void {
    const before = this.#gathering.length;
    setImmediate(() => {
      const { length } = this.#gathering;
      const hasGrown = length > before || reads === MAX_READS;
      if (hasGrown && reads > 1 && length < MAX_BATCH) this.#sendAfterReading(reads - 1);
      else {
        this.#isSending = false;
        this.#sendBatch();
      }
    });
  }

  #sendBatch(): void {
    const waiters = this.#gathering.splice(0, MAX_BATCH);
    if (waiters.length === 0) return;
    this.#sent = waiters;
    try {
      this.#send(waiters.map((waiter) => waiter.command));
    } catch (error) {
      // A command holds something that cannot be sent, so none of them was.
      this.fail(error);
    }
  }
}
