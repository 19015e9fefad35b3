import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** How often a server checks whether it leads. */
const LOOK_INTERVAL_MS = SECOND_MS;

const THIS_LEADS = 'this server does the background work now';
const ANOTHER_LEADS = 'another server does the background work now';

interface LeaderGateOptions {
  /** Whether this server is the leader. */
  isLeader(): boolean;
  /** Drops cached state: another server may have done the work until now. */
  takeOver(): void;
  readonly loops: readonly Loop[];
}

/** Runs loops while this server is the leader. */
type LeaderGate = Pick<Loop, 'start' | 'stop'>;

/**
 * A new leader starts all rounds at once, so that no work waits for another interval because the previous
 * leader has died. A server that stops leading finishes the current round: the store checks every write.
 */
export function createLeaderGate({ isLeader, takeOver, loops }: LeaderGateOptions, log: Log): LeaderGate {
  let isOpen = false;

  function open(): void {
    isOpen = true;
    for (const loop of loops) loop.start();
  }

  /** Resolves when the current rounds are done. */
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
        // Do not wait for running rounds: the server may become the leader again meanwhile.
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
      // A server that leads from the start waits for its first rounds like a single server.
      if (!isOpen && isLeader()) open();
      watch.start();
    },
    async stop() {
      await watch.stop();
      await close();
    },
  };
}
