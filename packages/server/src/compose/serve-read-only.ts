import { setTimeout as delay } from 'node:timers/promises';
import { stopAll } from '../background/stop-all.ts';
import { Fault } from '../core/nouns/fault.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import type { Stop } from './serve-options.ts';

/** A store that answers queries, but takes no commands: rules and identity were not looked at yet. */
export function withoutWriting(store: Store): Store {
  const refusal = new Fault(
    'store_unavailable',
    'The server cannot write its data now, because its disk is full. It goes on when there is room.',
  );
  return {
    execute: () => Promise.reject(refusal),
    read: (query, signal) => store.read(query, signal),
    keepClock: () => store.keepClock(),
    isHealthy: () => false,
    isLeader: () => false,
    tally: store.tally,
    listWaiting: (products) => store.listWaiting(products),
    turns: store.turns,
    listPools: () => store.listPools(),
    close: async () => {},
  };
}

interface LateStart {
  /** Starts the whole server; `late` collects how to stop it. */
  readonly begin: (late: Stop[]) => Promise<unknown>;
  /** Answers what can be answered without writing. */
  readonly wait: () => void;
  readonly onLost: () => void;
}

const LOOK_INTERVAL_MS = SECOND_MS;

/** Starts the whole server as soon as its store can be written. Returns how to stop it, started or not. */
export function serveOnceWritable(store: Store, { begin, wait, onLost }: LateStart, log: Log): Stop {
  const late: Stop[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Returns whether there is nothing left to try. */
  async function attempt(): Promise<boolean> {
    try {
      await store.keepClock();
      await begin(late);
      return true;
    } catch (error) {
      await stopAll(late.splice(0), []).catch(() => {});
      if (error instanceof Fault) return false;
      log.error({ error: String(error) }, 'the disk has room, but the server cannot start');
      onLost();
      return true;
    }
  }

  async function run(): Promise<void> {
    do {
      wait();
      await delay(LOOK_INTERVAL_MS, undefined, { signal }).catch(() => {});
    } while (!signal.aborted && !(await attempt()));
  }

  const running = run();
  return async () => {
    stopping.abort();
    await running;
    await stopAll(late, []);
  };
}
