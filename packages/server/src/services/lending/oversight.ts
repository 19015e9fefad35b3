import type { Actor } from '../../core/nouns/actor.ts';
import type { ResetMode } from '../../core/system-command.ts';
import type { StoreDescription } from '../../store/query.ts';
import type { ClockStatus, Executed, Store } from '../../store/store.ts';

/** What an administrator sees: the clock and the state of the server. */
export interface Oversight {
  readClock(): Promise<ClockStatus>;
  /** The same, but `null` while the disk fails. */
  findClock(): Promise<ClockStatus | null>;
  acceptClock(by: Actor): Promise<Executed>;
  resetClock(mode: ResetMode, by: Actor): Promise<Executed>;
  describeStore(): Promise<StoreDescription>;
  isHealthy(): boolean;
  /** Whether this server is the leader. */
  isLeader(): boolean;
}

export function createOversight(store: Store): Oversight {
  return {
    readClock: () => store.keepClock(),
    findClock: async () => (store.isHealthy() ? store.keepClock().catch(() => null) : null),
    acceptClock: (by) => store.execute({ kind: 'accept_clock', by }),
    resetClock: (mode, by) => store.execute({ kind: 'reset_clock', mode, by }),
    describeStore: () => store.read({ kind: 'describe_store' }),
    isHealthy: () => store.isHealthy(),
    isLeader: () => store.isLeader(),
  };
}
