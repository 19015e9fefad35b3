import type { Environment } from './environment.ts';

/**
 * How far the wall clock may run ahead of the monotonic clock before that counts as sleep. Readings of the
 * two are never from exactly the same moment.
 */
const NOTICED_SLEEP_MS = 500;

/**
 * Time that passes while the machine sleeps, too. The monotonic clock may stand still then, and only the wall
 * clock tells. A wall clock that somebody sets ahead looks the same: it costs a slot that is asked for again,
 * where the opposite would keep one too long. A wall clock that is set back changes nothing.
 */
export class SteadyClock {
  readonly #environment: Environment;
  #leadMs: number;
  #sleptMs = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#leadMs = environment.readWallMs() - environment.readMonotonicMs();
  }

  /** How long the machine has slept, as far as the last reading noticed. */
  get sleptMs(): number {
    return this.#sleptMs;
  }

  readMs(): number {
    const monotonicMs = this.#environment.readMonotonicMs();
    const leadMs = this.#environment.readWallMs() - monotonicMs;
    const sleptMs = leadMs - this.#leadMs;
    if (sleptMs < 0 || sleptMs > NOTICED_SLEEP_MS) this.#leadMs = leadMs;
    if (sleptMs > NOTICED_SLEEP_MS) this.#sleptMs += sleptMs;
    return monotonicMs + this.#sleptMs;
  }
}
