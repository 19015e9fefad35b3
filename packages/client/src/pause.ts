import type { Environment } from './environment.ts';

/** Rejects when the signal aborts. */
export function pause(environment: Environment, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const ignore = onAbort(signal, () => {
      cancel();
      reject(signal?.reason);
    });
    const finish = () => {
      ignore();
      resolve();
    };
    const cancel = environment.setTimer(delayMs, finish, 'foreground');
  });
}

/** What the work results in, or `late` if that takes too long. */
export async function within<Result>(
  environment: Environment,
  limitMs: number,
  work: Promise<Result>,
  late: Result,
): Promise<Result> {
  let cancel = () => {};
  const limit = new Promise<Result>((resolve) => {
    cancel = environment.setTimer(limitMs, () => resolve(late), 'foreground');
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    cancel();
  }
}

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** One listener for all who wait with the same signal: Node warns of a leak if there are many. */
function onAbort(signal: AbortSignal | undefined, work: () => void): () => void {
  if (signal === undefined) return () => {};
  const works = waiting.get(signal) ?? new Set();
  const abort = () => {
    for (const one of works) one();
  };
  if (!waiting.has(signal)) signal.addEventListener('abort', abort, { once: true });
  waiting.set(signal, works.add(work));
  return () => works.delete(work);
}
