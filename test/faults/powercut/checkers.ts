import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Life } from '../door/fault.ts';
import type { State } from './check-state.ts';

interface Verdict {
  /** What is wrong, in sentences. */
  readonly wrong: readonly string[];
  readonly ms: number;
  /** The memory of the process that has checked it. */
  readonly megabytes: number;
}

const CHECKER = fileURLToPath(new URL('./checker.ts', import.meta.url));

/** Processes that start a server on each state; each lives for thousands of them. */
export class Checkers {
  readonly #idle: ChildProcess[] = [];
  readonly #waiting: ((checker: ChildProcess) => void)[] = [];

  constructor(count: number, env: Readonly<Record<string, string>>, life: Life) {
    for (let index = 0; index < count; index++) {
      const child = fork(CHECKER, { env: { ...process.env, ...env } });
      life.after(() => child.kill('SIGKILL'));
      this.#idle.push(child);
    }
  }

  /** Calls `make` when a checker is free, and has it check what was made. */
  async check(make: () => State): Promise<Verdict> {
    const checker =
      this.#idle.pop() ?? (await new Promise<ChildProcess>((resolve) => this.#waiting.push(resolve)));
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      checker.once('message', (message) => resolve(message as Verdict));
      checker.once('exit', (code) => reject(new Error(`A checker ended with ${code}.`)));
      checker.send(make());
    });
    this.#release(checker);
    return verdict;
  }

  #release(checker: ChildProcess): void {
    checker.removeAllListeners('exit');
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(checker);
    else next(checker);
  }
}
