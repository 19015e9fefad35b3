/** What hears signals: the process. */
interface SignalSource {
  on(signal: StopSignal, hear: () => void): unknown;
  listenerCount(signal: StopSignal): number;
  exit(code: number): unknown;
}

/** A terminal that closes sends SIGHUP. */
const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

type StopSignal = keyof typeof NUMBERS;

/** One Ctrl-C can arrive twice, from the terminal and from npm. What comes within this time is the same. */
const SAME_MS = 500;

/**
 * Resolves at the first signal to stop. Whoever sends another, because the stop takes too long for them, ends
 * the process at once. A signal that somebody has taken already, such as SIGHUP under nohup, is left to them.
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
