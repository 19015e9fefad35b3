import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pinLoadGenerator } from '../cores.ts';

const PROGRAM = fileURLToPath(new URL('./waiting-clients.ts', import.meta.url));

/** What clients that wait are told. They answer each call with what has happened since the last. */
export type WaitingCall =
  | { readonly kind: 'resume' | 'calm' }
  /** A slot ends then by itself, in milliseconds since 1970. */
  | { readonly kind: 'expect_end'; readonly atMs: number };

export interface WaitingTally {
  /** How long slots were given back, and how many requests the clients sent meanwhile. */
  readonly seconds: number;
  readonly requests: number;
  /** How many free slots were taken, and how long one was free at most. */
  readonly taken: number;
  readonly longestMs: number;
  /** Why a client waited other than for a slot. */
  readonly error: string | null;
}

/** Far longer than a slot lasts without renewal, or is free. */
const LONGEST_SECONDS = 90;

/** Programs that wait for slots, in one process beside the load generator. */
export class WaitingProcess {
  readonly pid: number;
  /** What happened until each pause. */
  readonly tallies: WaitingTally[] = [];
  readonly #child: ChildProcess;
  #isPaused = false;

  constructor(url: string, product: string, count: number) {
    const words = [...pinLoadGenerator(), process.execPath, PROGRAM, url, product, String(count)];
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    this.#child = spawn(words[0] as string, words.slice(1), { stdio: [...stdio] });
    this.pid = this.#child.pid as number;
  }

  /** From now on they wait, and give slots back; nothing happens if they do so already. */
  readonly resume = async (): Promise<void> => {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#child.kill('SIGCONT');
    await this.#ask({ kind: 'resume' });
  };

  /** They stand still as soon as every free slot is taken. */
  readonly pause = async (): Promise<void> => {
    if (this.#isPaused) return;
    this.tallies.push(await this.#ask({ kind: 'calm' }));
    this.#isPaused = true;
    this.#child.kill('SIGSTOP');
  };

  /** They wait for a slot that ends by itself, and give none back. */
  async expectEnd(atMs: number): Promise<WaitingTally> {
    this.#child.kill('SIGCONT');
    return this.#ask({ kind: 'expect_end', atMs });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    this.#child.kill('SIGCONT');
    await exited;
  }

  async #ask(call: WaitingCall): Promise<WaitingTally> {
    const answered = once(this.#child, 'message', { signal: AbortSignal.timeout(LONGEST_SECONDS * 1000) });
    this.#child.send(call);
    return answered.then(
      ([tally]) => tally as WaitingTally,
      (cause) => {
        throw new Error(`No waiting client took a free slot within ${LONGEST_SECONDS} s.`, { cause });
      },
    );
  }
}
