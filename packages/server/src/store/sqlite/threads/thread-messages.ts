import type { ProductLimit } from '../../../core/access/role.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import type { PlaceKey } from '../../../core/outcome.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import type { Query } from '../../query.ts';
import type { ClockStatus, LineDescription } from '../../store.ts';
import type { WriterOptions } from '../write/writer.ts';
import type { SentCommand } from './sent-commands.ts';
import type { SentResult } from './sent-results.ts';

/** What the writing thread is started with. */
export type ThreadData = Pick<WriterOptions, 'file' | 'masterKey' | 'nextMasterKey' | 'ignoresCase'>;

/**
 * An array is a batch of commands. Each message gets one answer, in order. Messages cross as JSON texts,
 * which takes two thirds of the time of copying objects. Only a batch that holds a master key is copied.
 */
export type ToWriter =
  | readonly SentCommand[]
  | { readonly kind: 'keep_clock' }
  | { readonly kind: 'list_waiting'; readonly products: ProductLimit }
  | { readonly kind: 'close' };

export type FromWriter =
  | { readonly kind: 'ready' }
  /** The disk is full: until it has room, queries can be answered as of this time. */
  | { readonly kind: 'ready_to_read'; readonly message: string; readonly now: Instant }
  | { readonly kind: 'failed_to_open'; readonly message: string }
  | {
      readonly kind: 'executed';
      readonly results: readonly SentResult[];
      readonly now: Instant;
      /** How long the commit took; `null` if nothing changed. */
      readonly syncMs: number | null;
      readonly notices: readonly StoreNotice[];
      /** Whose turn it is in the line; left out if it is nobody's. */
      readonly turns?: readonly PlaceKey[];
    }
  | { readonly kind: 'batch_failed'; readonly message: string }
  | { readonly kind: 'clock'; readonly status: ClockStatus; readonly notices: readonly StoreNotice[] }
  | { readonly kind: 'waiting'; readonly line: LineDescription | null }
  | { readonly kind: 'clock_failed'; readonly message: string }
  | { readonly kind: 'closed' };

export interface ToReader {
  readonly id: number;
  readonly query: Query;
  readonly now: Instant;
  /** Only for a query that needs them. */
  readonly masterKeys: readonly MasterKey[];
}

export type FromReader =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly message: string };

/** The answer to every command of a failed batch. */
export function storeFault(cause: unknown): Fault {
  return new Fault('store_unavailable', 'The server cannot write its data now. Try again in a moment.', {
    cause,
  });
}
