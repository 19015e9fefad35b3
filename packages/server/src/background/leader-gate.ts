import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** How often a server looks whether it leads. */
export const LOOK_INTERVAL_MS = SECOND_MS;

export const THIS_LEADS = 'this server does the background work now';
export const ANOTHER_LEADS = 'another server does the background work now';

interface LeaderGateOptions {
  /** Whether this server does what only one of several does. */
  isLeader(): boolean;
  /** Another server may have done the work until now: what was remembered of it counts no more. */
  takeOver(): void;
  readonly loops: readonly Loop[];
}

/** Lets loops run while this server is the leader. */
type LeaderGate = Pick<Loop, 'start' | 'stop'>;

/**
 * A server that becomes the leader begins all rounds at once, so that nothing waits for a whole interval more
 * because the server before it has died. A round that is under way when it ceases to be the leader is
 * finished: everything that it writes is decided by the store, whoever asks.
 */
export function createLeaderGate({ isLeader, takeOver, loops }: LeaderGateOptions, log: Log): LeaderGate {
  let isOpen = false;

  function open(): void {
    isOpen = true;
    for (const loop of loops) loop.start();
  }

  /** Resolves when what is under way is done. */
  async function close(): Promise<void> {
    isOpen = false;
    await Promise.all(loops.map((loop) => loop.stop()));
  }

  const watch = createLoop({
    intervalMs: LOOK_INTERVAL_MS,
    async work() {
      if (isLeader() === isOpen) return;
      if (isOpen) {
        log.info(ANOTHER_LEADS);
        // The gate is not held up by what is under way: it may be opened again meanwhile.
        void close();
        return;
      }
      log.info(THIS_LEADS);
      takeOver();
      open();
      for (const loop of loops) loop.wake();
    },
    onError: (error) => log.error({ error: String(error) }, 'the background work could not be taken over'),
  });

  return {
    start() {
      // A server that leads from its start on waits as long for its first rounds as one that is alone.
      if (!isOpen && isLeader()) open();
      watch.start();
    },
    async stop() {
      await watch.stop();
      await close();
    },
  };
}
