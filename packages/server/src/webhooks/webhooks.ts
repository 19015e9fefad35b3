import type { Actor } from '../core/nouns/actor.ts';
import type { RecordedEvent } from '../core/nouns/audit-event.ts';
import type { Instant } from '../core/nouns/instant.ts';

/** The port to a receiver of events. */
export interface WebhookReceiver {
  /** Tries once. A failure is a result, not an exception. */
  send(event: WebhookEvent): Promise<Delivery>;
}

export interface WebhookEvent {
  /** The same for every attempt. */
  readonly id: string;
  /** `null` for events of the server itself. */
  readonly licenseId: number | null;
  readonly at: Instant;
  readonly event: RecordedEvent | WebhookTest;
}

/** Sent on request to see whether events arrive. It is not in the audit log. */
interface WebhookTest {
  readonly kind: 'webhook_test';
  readonly by: Actor;
}

/** `gone`: the receiver refuses the event permanently. `stopping`: this server aborted the request. */
export type Delivery =
  | { readonly kind: 'delivered' | 'gone'; readonly status: number }
  | { readonly kind: 'stopping' }
  /** `status`: missing if there was no answer. */
  | { readonly kind: 'failed'; readonly reason: string; readonly status?: number };
