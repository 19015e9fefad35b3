/**
 * Repeated work. Start and stop may be called in any order and more than once; stop waits for the work.
 */
export interface Loop {
  start(): void;
  /** Runs the next round now, or right after the current one. Has no effect while stopped. */
  wake(): void;
  /** So much time has passed on a test clock. Runs a round if one is due by now, and resolves after it. */
  pass(millis: number): Promise<void>;
  stop(): Promise<void>;
}

interface LoopOptions {
  /** The time from the end of one round to the start of the next; called for each round. */
  readonly intervalMs: number | (() => number);
  work(): Promise<void>;
  /** The loop continues after an error. */
  onError(error: unknown): void;
}

export function createLoop({ intervalMs, work, onError }: LoopOptions): Loop {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  let isAtWork = false;
  let isOn = false;
  let isWoken = false;
  /** Until the next round, as far as a test clock has moved. */
  let leftMs = 0;

  function schedule(): void {
    const delayMs = typeof intervalMs === 'number' ? intervalMs : intervalMs();
    leftMs = isWoken ? 0 : delayMs;
    timer = setTimeout(begin, leftMs);
    isWoken = false;
  }

  function begin(): void {
    round = runRound();
  }

  async function runRound(): Promise<void> {
    isAtWork = true;
    try {
      await work();
    } catch (error) {
      onError(error);
    }
    isAtWork = false;
    if (isOn) schedule();
  }

  return {
    start() {
      if (isOn) return;
      isOn = true;
      // A running round schedules the next one itself; a second schedule would never end.
      if (!isAtWork) schedule();
    },
    wake() {
      if (!isOn) return;
      isWoken = true;
      if (isAtWork) return;
      clearTimeout(timer);
      schedule();
    },
    async pass(millis) {
      leftMs -= millis;
      if (!isOn || leftMs > 0) return;
      // One that is at work may have read the time before it was moved.
      if (isAtWork) await round;
      if (!isOn) return;
      clearTimeout(timer);
      begin();
      await round;
    },
    async stop() {
      isOn = false;
      isWoken = false;
      clearTimeout(timer);
      await round;
    },
  };
}
