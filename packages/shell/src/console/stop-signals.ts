/** The process, as a source of signals. */
interface SignalSource {
  on(signal: StopSignal, hear: () => void): unknown;
  listenerCount(signal: StopSignal): number;
  exit(code: number): unknown;
}

/** A closing terminal sends SIGHUP. */
const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

type StopSignal = keyof typeof NUMBERS;

/** One Ctrl-C can arrive twice, from the terminal and from npm. Signals within this time count as one. */
const SAME_MS = 500;

/**
 * Resolves at the first stop signal. A second one ends the process at once. Signals that already have a
 * handler or are ignored, such as SIGHUP under nohup, are left alone.
 */
export function waitForStop(source: SignalSource): Promise<void> {
  return new Promise((resolve) => {
    let isImpatient = false;
    for (const [signal, number] of Object.entries(NUMBERS) as [StopSignal, number][]) {
      if (source.listenerCount(signal) > 0) continue;
      source.on(signal, () => {
        if (isImpatient) source.exit(128 + number);
        setTimeout(() => {
          isImpatient = true;
        }, SAME_MS).unref();
        resolve();
      });
    }
  });
}
