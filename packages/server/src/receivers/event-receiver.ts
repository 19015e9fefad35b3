import type { Message } from '../core/notify/message.ts';
import type { Actor } from '../core/nouns/actor.ts';
import type { RecordedEvent } from '../core/nouns/audit-event.ts';
import type { Instant } from '../core/nouns/instant.ts';

/** The port to a receiver of events. */
export interface EventReceiver {
  /** How many events it takes at once. */
  readonly most: number;
  /** Tries once. A failure is a result, not an exception. */
  send(events: readonly [SentEvent, ...SentEvent[]]): Promise<Delivery>;
}

export interface SentEvent {
  /** The same for every attempt. */
  readonly id: string;
  /** `null` for events of the server itself. */
  readonly licenseId: number | null;
  readonly at: Instant;
  readonly event: RecordedEvent | TestEvent;
}

/** Sent on request to see whether events arrive. It is not in the audit log. */
interface TestEvent {
  readonly kind: 'webhook_test';
  readonly by: Actor;
}

/** The port to a person, over mail or chat. */
export interface MessageReceiver {
  /** Tries once. A failure is a result, not an exception. */
  send(message: Message): Promise<Delivery>;
}

/**
 * `gone`: the receiver refuses the event permanently. `stopping`: this server aborted the request. `status`:
 * of an answer over HTTP or SMTP. `remark`: it was delivered, but not to everyone.
 */
export type Delivery =
  | { readonly kind: 'delivered'; readonly status?: number; readonly remark?: string }
  | { readonly kind: 'gone'; readonly status: number }
  | { readonly kind: 'stopping' }
  | { readonly kind: 'failed'; readonly reason: string; readonly status?: number };
