/** Work that repeats. Start and stop may be called in any order and more than once; stop waits for the work. */
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
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> = Promise.resolve();
  let isOn = false;

  function schedule(): void {
    timer = setTimeout(() => {
      running = work()
        .catch(onError)
        .then(() => {
          if (isOn) schedule();
        });
    }, intervalMs);
  }

  return {
    start() {
      if (isOn) return;
      isOn = true;
      schedule();
    },
    async stop() {
      isOn = false;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
}
