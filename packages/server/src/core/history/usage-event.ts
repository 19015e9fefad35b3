import type { ErrorCode } from '@berth/protocol/errors';
import type { Instant } from '../nouns/instant.ts';

/** Who took a slot or wanted one. */
export interface Person {
  /** Empty if the request named no user. */
  readonly user: string;
  readonly host: string | null;
  /** The address that the request came from; `null`: unknown, or not over the network. */
  readonly address: string | null;
}

/** What a decision adds to the history. `feature` is empty for the license itself. */
export type UsageEvent = { readonly feature: string; readonly at: Instant } & (
  | Granted
  | Borrowed
  | Ended
  | Denied
  | Waited
  | { readonly kind: 'consumed'; readonly amount: number }
);

interface Granted {
  readonly kind: 'granted';
  readonly person: Person;
  /** Slots in use, this one included. */
  readonly inUse: number;
}

/** A slot that is held is borrowed from now on. */
interface Borrowed {
  readonly kind: 'borrowed';
  /** When an earlier borrow of the same slot ended; `null`: there was none. */
  readonly lastUntil: Instant | null;
}

/** A slot is free again: it was returned, or its time was over. */
export interface Ended {
  readonly kind: 'ended';
  readonly person: Person;
  readonly heldSince: Instant;
  readonly borrowedUntil: Instant | null;
}

/** A wait in the line for a slot has ended. */
interface Waited {
  readonly kind: 'waited';
  readonly waitedMs: number;
  /** Whether it ended with a slot. */
  readonly isServed: boolean;
}

interface Denied {
  readonly kind: 'denied';
  readonly person: Person;
  readonly reason: ErrorCode;
  /** The rule that refused, in a few words; empty: none did. */
  readonly rule: string;
  /** Of the license or the feature. */
  readonly slots: number;
  /** How many were in use; `null`: it did not matter. */
  readonly inUse: number | null;
  /** How many of them were borrowed; `null`: unknown. */
  readonly borrowed: number | null;
  readonly nextFreeAt: Instant | null;
}
