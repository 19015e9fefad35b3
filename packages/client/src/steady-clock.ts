import type { Environment } from './environment.ts';

/**
 * How far the wall clock may run ahead of the monotonic clock before that counts as sleep. Readings of the
 * two are never from exactly the same moment.
 */
const NOTICED_SLEEP_MS = 500;

/**
 * A clock that goes on while the machine sleeps. The monotonic clock may stand still then, so the wall clock
 * is compared with it. A wall clock that is set ahead looks like sleep: the slot is lost and asked for again.
 * The opposite mistake would keep a slot too long. A wall clock that is set back changes nothing.
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
