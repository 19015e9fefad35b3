import type { Command } from '../../../core/command.ts';
import type { CommandResult } from '../../engine/execute-command.ts';
import type { Executed } from '../../store.ts';
import type { StoreTally } from '../../store-tally.ts';

interface Waiter {
  readonly command: Command;
  resolve(outcome: Executed): void;
  reject(error: unknown): void;
}

/** Most commands of a batch, so that its first command does not wait for ever. */
const MAX_BATCH = 512;

/** Batches under way: one that is being written, and one that the writer finds when it is done. */
const MAX_SENT = 2;

/**
 * Gathers commands that arrive together and sends them as one batch, so that they share a sync. While the
 * writer is busy the next batch fills. Each caller hears back when its batch is on disk, or failed.
 */
export class GroupCommit {
  readonly #send: (commands: readonly Command[]) => void;
  readonly #tally: StoreTally;
  #gathering: Waiter[] = [];
  /** Batches that were sent and not yet answered. Answers come in the order of sending. */
  #sent: (readonly Waiter[])[] = [];
  #isSending = false;
  #drained: (() => void)[] = [];

  constructor(send: (commands: readonly Command[]) => void, tally: StoreTally) {
    this.#send = send;
    this.#tally = tally;
  }

  submit(command: Command): Promise<Executed> {
    return new Promise((resolve, reject) => {
      this.#gathering.push({ command, resolve, reject });
      this.#sendSoon();
    });
  }

  /** The oldest batch was committed; `syncMs`: how long that took, `null` if nothing changed. */
  settle(results: readonly CommandResult[], syncMs: number | null): void {
    this.#tally.noteBatch(results.length);
    if (syncMs !== null) this.#tally.noteSync(syncMs);
    for (const [index, waiter] of this.#takeSent().entries()) {
      const result = results[index] as CommandResult;
      if ('outcome' in result) {
        this.#tally.note(waiter.command, result.outcome);
        waiter.resolve(result.outcome);
      } else waiter.reject(result.error);
    }
    this.#goOn();
  }

  /** The oldest batch was not committed. */
  fail(error: unknown): void {
    for (const waiter of this.#takeSent()) waiter.reject(error);
    this.#goOn();
  }

  /** Fails everything: there will be no more answers. */
  failAll(error: unknown): void {
    const waiters = [...this.#sent.flat(), ...this.#gathering];
    this.#sent = [];
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
    return this.#sent.shift() ?? [];
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
    if (this.#isSending || this.#sent.length >= MAX_SENT) return;
    this.#isSending = true;
    setImmediate(() => {
      this.#isSending = false;
      this.#sendBatch();
    });
  }

  #sendBatch(): void {
    const waiters = this.#gathering.splice(0, MAX_BATCH);
    if (waiters.length === 0) return;
    this.#sent.push(waiters);
    try {
      this.#send(waiters.map((waiter) => waiter.command));
    } catch (error) {
      // A command holds something that cannot be sent, so none of them was.
      this.#sent.pop();
      for (const waiter of waiters) waiter.reject(error);
      this.#goOn();
    }
    if (this.#gathering.length > 0) this.#sendSoon();
  }
}
