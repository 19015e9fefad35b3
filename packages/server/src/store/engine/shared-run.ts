import { Fault } from '../../core/nouns/fault.ts';

interface Round<T> {
  readonly result: Promise<T>;
  /** Aborted when nobody waits for the result any more. */
  readonly deserted: AbortController;
  askers: number;
}

/**
 * Expensive work that several callers may want at once. There is one run at a time. Those who ask meanwhile
 * share the next one, because the current one may have started before what they want to be sure of. A run
 * is canceled when all of its callers are gone.
 */
export class SharedRun<T> {
  readonly #run: (signal: AbortSignal) => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Round<T> | null = null;

  constructor(run: (signal: AbortSignal) => Promise<T>) {
    this.#run = run;
  }

  /** `signal`: the caller is gone. */
  ask(signal?: AbortSignal): Promise<T> {
    const round = this.#next ?? this.#openRound();
    round.askers += 1;
    return signal === undefined ? round.result : waitUnlessGone(round, signal);
  }

  /** Resolves when nothing runs or waits any more, whether it succeeded or failed. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next?.result]);
  }

  #openRound(): Round<T> {
    const deserted = new AbortController();
    const begin = () => this.#begin(deserted.signal);
    if (this.#running === null) return { result: begin(), deserted, askers: 0 };
    this.#next = { result: this.#running.then(begin, begin), deserted, askers: 0 };
    return this.#next;
  }

  #begin(signal: AbortSignal): Promise<T> {
    this.#next = null;
    this.#running = this.#run(signal).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }
}

function waitUnlessGone<T>(round: Round<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      const reason = new Fault('store_unavailable', 'Nobody waits for this any more.');
      round.askers -= 1;
      if (round.askers === 0) round.deserted.abort(reason);
      reject(reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    round.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
