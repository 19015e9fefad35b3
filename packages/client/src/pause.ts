import type { Environment } from './environment.ts';

/** Rejects when the signal aborts. */
export function pause(environment: Environment, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      cancel();
      reject(signal?.reason);
    };
    const finish = () => {
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = environment.setTimer(delayMs, finish, 'foreground');
    signal?.addEventListener('abort', end, { once: true });
  });
}
