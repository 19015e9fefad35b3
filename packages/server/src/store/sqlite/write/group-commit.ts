import type { Command } from '../../../core/command.ts';
import type { CommandResult } from '../../engine/execute-command.ts';
import type { Executed } from '../../store.ts';
import type { StoreTally } from '../../store-tally.ts';

interface Waiter {
  readonly command: Command;
  resolve(outcome: Executed): void;
  reject(error: unknown): void;
}

/**
 * Gathers commands that arrive together and sends them as one batch, so that they share a sync. While one
 * batch is being written the next one fills. Each caller hears back when its batch is on disk, or failed.
 */
export class GroupCommit {
  readonly #send: (commands: readonly Command[]) => void;
  readonly #tally: StoreTally;
  #gathering: Waiter[] = [];
  /** Sent and not yet answered. Answers come in the order of sending. */
  #sent: Waiter[] = [];
  #drained: (() => void)[] = [];

  constructor(send: (commands: readonly Command[]) => void, tally: StoreTally) {
    this.#send = send;
    this.#tally = tally;
  }

  submit(command: Command): Promise<Executed> {
    return new Promise((resolve, reject) => {
      this.#gathering.push({ command, resolve, reject });
      // After the sockets that are readable now have been read, so that their requests share a batch.
      if (this.#gathering.length === 1) setImmediate(() => this.#flush());
    });
  }

  /** The next commands in line were committed; `syncMs`: how long that took, `null` if nothing changed. */
  settle(results: readonly CommandResult[], syncMs: number | null): void {
    this.#tally.noteBatch(results.length);
    if (syncMs !== null) this.#tally.noteSync(syncMs);
    const waiters = this.#sent.splice(0, results.length);
    for (const [index, result] of results.entries()) {
      const waiter = waiters[index] as Waiter;
      if ('outcome' in result) {
        this.#tally.note(waiter.command, result.outcome);
        waiter.resolve(result.outcome);
      } else waiter.reject(result.error);
    }
    this.#noteDrained();
  }

  /** The next commands in line were not committed. */
  fail(count: number, error: unknown): void {
    for (const waiter of this.#sent.splice(0, count)) waiter.reject(error);
    this.#noteDrained();
  }

  /** Fails everything: there will be no more answers. */
  failAll(error: unknown): void {
    const waiters = [...this.#sent, ...this.#gathering];
    this.#sent = [];
    this.#gathering = [];
    for (const waiter of waiters) waiter.reject(error);
    this.#noteDrained();
  }

  /** Resolves when everything that was submitted has been answered. */
  drain(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #isIdle(): boolean {
    return this.#gathering.length === 0 && this.#sent.length === 0;
  }

  #noteDrained(): void {
    if (!this.#isIdle()) return;
    const waiting = this.#drained;
    this.#drained = [];
    for (const resolve of waiting) resolve();
  }

  #flush(): void {
    if (this.#gathering.length === 0) return;
    const waiters = this.#gathering;
    this.#gathering = [];
    this.#sent.push(...waiters);
    try {
      this.#send(waiters.map((waiter) => waiter.command));
    } catch (error) {
      // A command holds something that cannot be sent, so none of them was.
      for (const waiter of this.#sent.splice(-waiters.length)) waiter.reject(error);
      this.#noteDrained();
    }
  }
}
