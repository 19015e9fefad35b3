import type { ProductLimit } from '../core/access/role.ts';
import type { ClockJump } from '../core/clock/clock.ts';
import type { Command } from '../core/command.ts';
import type { Obstacle } from '../core/lending/waiting-line.ts';
import type { ClockJumped } from '../core/nouns/audit-event.ts';
import type { ConsumptionTotals } from '../core/nouns/consumption.ts';
import type { Instant } from '../core/nouns/instant.ts';
import type { Granted, Outcome, PlaceKey } from '../core/outcome.ts';
import type { Answer, Query } from './query.ts';
import type { PoolUse, StoreTally } from './store-tally.ts';
import type { TurnSignal } from './turn-signal.ts';

/**
 * What every store guarantees; `exercise-store.ts` tests it. Several servers may share one store: then all of
 * it holds for their commands together.
 *
 * 1. A command, its changes and its audit events are one commit. `execute` resolves when that is on disk,
 *    also for a refusal, which is an outcome like any other.
 * 2. Commands on one license take effect one after the other, in some order, each on what the one before it
 *    left.
 * 3. Deciding may be repeated, and so has to be pure. A command that throws fails alone, and leaves nothing
 *    behind.
 * 4. When a commit fails, all of its commands fail with a `Fault`, and none was acknowledged. The store
 *    recovers when the disk or the database does.
 * 5. `now` comes from the store. It never runs back on a license, not even over a restart, except by
 *    `reset_clock`.
 * 6. What was acknowledged is there after a crash; slots that were live when the store was last seen alive
 *    get at least one full timeout when it is opened again, and slots that had ended stay ended. A store that
 *    nobody has used for half a minute, because every server was stopped or asleep, was down as well.
 * 7. Who waits for a slot (`Wait`) gets it in the commit that frees it, or right after it, in the order in
 *    which they came, before later commands. `turns` then names them; their own command renews the slot.
 * 8. `read` sees every command that was acknowledged before it was called, and never delays a command.
 */
export interface Store {
  execute(command: Command): Promise<Executed>;
  /** `signal`: nobody waits for the answer any more, so long work may be canceled. */
  read<Q extends Query>(query: Q, signal?: AbortSignal): Promise<Answer<Q>>;
  /** Reads the clock, notices jumps, and remembers the time when a slot has ended. Called every second. */
  keepClock(): Promise<ClockStatus>;
  /** Whether the last commit reached the disk. */
  isHealthy(): boolean;
  /**
   * Whether this server does the work that only one of several servers does. It may be wrong for a moment, so
   * that work must be safe when two servers do it.
   */
  isLeader(): boolean;
  /** What this server has done with it since it was opened, for monitoring. */
  readonly tally: StoreTally;
  /** Who waits for a slot of these products, on all servers; `null`: of all. */
  listWaiting(products?: ProductLimit): Promise<LineDescription>;
  /** Whose turn it is in the line of those who wait. */
  readonly turns: TurnSignal;
  /** Its connections to a database; empty if it has none. */
  listPools(): readonly PoolUse[];
  /** Resolves when all requested work is done. */
  close(): Promise<void>;
}

/** An outcome as the store returns it: a grant includes the license's counts. */
export type Executed = Exclude<Outcome, Granted> | GrantedNow;

export type GrantedNow = Granted & { readonly totals: ConsumptionTotals };

/** The line: by product and feature, in the order of their turns. */
export interface LineDescription {
  /** How many there are; the list may have fewer. */
  readonly waiting: number;
  readonly places: readonly WaitingUser[];
  readonly now: Instant;
}

interface WaitingUser extends PlaceKey, Obstacle {
  readonly hostname: string | null;
  /** Of the connection. */
  readonly address: string | null;
  readonly since: Instant;
  /** In the line for the same product or feature; 1 is next. */
  readonly position: number;
  /** `false`: their place is kept for a moment. */
  readonly isConnected: boolean;
}

export interface ClockStatus {
  readonly now: Instant;
  readonly wall: Instant;
  readonly jump: ClockJump | null;
  /** The wall clock had gone far ahead when the store was opened: a long rest, or a wrong clock. */
  readonly jumpAtStart: ClockJumped | null;
}
