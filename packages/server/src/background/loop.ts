/**
 * Work that repeats. Start and stop may be called in any order and more than once; stop waits for the work.
 */
export interface Loop {
  start(): void;
  stop(): Promise<void>;
}

export interface LoopOptions {
  readonly intervalMs: number;
  work(): Promise<void>;
  /** The loop goes on after an error: the next round may go better. */
  onError(error: unknown): void;
}

/** The interval counts from the end of one round to the start of the next, so rounds never overlap. */
export function createLoop({ intervalMs, work, onError }: LoopOptions): Loop {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  let isAtWork = false;
  let isOn = false;

  function schedule(): void {
    timer = setTimeout(() => {
      round = runRound();
    }, intervalMs);
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
      // A round that is still at work schedules the next one itself; two schedules would never end.
      if (!isAtWork) schedule();
    },
    async stop() {
      isOn = false;
      clearTimeout(timer);
      await round;
    },
  };
}
