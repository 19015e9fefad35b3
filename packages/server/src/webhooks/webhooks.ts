import type { RecordedEvent } from '../core/nouns/audit-event.ts';
import type { Instant } from '../core/nouns/instant.ts';

/** The port to whoever wants to be told of events. */
export interface WebhookReceiver {
  /** Tries once. Whatever goes wrong is an answer, not an exception. */
  send(event: WebhookEvent): Promise<Delivery>;
}

export interface WebhookEvent {
  /** The same however often it is sent. */
  readonly id: string;
  /** `null`: of the server itself. */
  readonly licenseId: number | null;
  readonly at: Instant;
  readonly event: RecordedEvent;
}

/** `gone`: it does not want this one, ever. `stopping`: this server cut it off, and it says nothing. */
export type Delivery =
  | { readonly kind: 'delivered' | 'gone' | 'stopping' }
  | { readonly kind: 'failed'; readonly reason: string };
