import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Life } from '../door/fault.ts';
import { checkAndRemove, type State, type Verdict } from './check-state.ts';

const CHECKER = fileURLToPath(new URL('./checker.ts', import.meta.url));

type Check = (state: State) => Promise<Verdict>;

/** They start a server on each state, one after the other. */
export class Checkers {
  readonly #idle: Check[];
  readonly #waiting: ((check: Check) => void)[] = [];

  /** For a few states, this process does it: starting another takes longer than they do. */
  constructor(checks: readonly Check[] = [checkAndRemove]) {
    this.#idle = [...checks];
  }

  /** Processes, each of which lives for thousands of states. */
  static fork(count: number, env: Readonly<Record<string, string>>, life: Life): Checkers {
    return new Checkers(
      Array.from({ length: count }, () => {
        const child = fork(CHECKER, { env: { ...process.env, ...env } });
        life.after(() => child.kill('SIGKILL'));
        return (state) => askProcess(child, state);
      }),
    );
  }

  /** Calls `make` when a checker is free, and has it check what was made. */
  async check(make: () => State): Promise<Verdict> {
    const check = this.#idle.pop() ?? (await new Promise<Check>((resolve) => this.#waiting.push(resolve)));
    const verdict = await check(make());
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(check);
    else next(check);
    return verdict;
  }
}

async function askProcess(checker: ChildProcess, state: State): Promise<Verdict> {
  const verdict = await new Promise<Verdict>((resolve, reject) => {
    checker.once('message', (message) => resolve(message as Verdict));
    checker.once('exit', (code) => reject(new Error(`A checker ended with ${code}.`)));
    checker.send(state);
  });
  checker.removeAllListeners('exit');
  return verdict;
}
