import type { RecordedEvent } from '../../core/nouns/audit-event.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import { toWire } from './to-wire.ts';

/** Where an event stands in the log. */
interface EventPlace {
  readonly seq: number;
  /** A license id, or 0 for the system. */
  readonly chain: number;
  readonly at: Instant;
}

/** An event in the names and dates of the API. One of the system may be about a license, and then says so. */
export function presentEvent({ seq, chain, at }: EventPlace, event: RecordedEvent): Record<string, unknown> {
  return toWire({ seq, licenseId: chain === 0 ? null : chain, at, ...event });
}
