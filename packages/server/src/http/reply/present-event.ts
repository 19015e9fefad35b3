import type { Instant } from '../../core/nouns/instant.ts';
import { toWire } from './to-wire.ts';

/** The position of an event in the log. */
interface EventPlace {
  readonly seq: number;
  /** A license id, or 0 for the system. */
  readonly chain: number;
  readonly at: Instant;
}

interface Sent {
  readonly id: string;
  readonly licenseId: number | null;
  readonly at: Instant;
  readonly event: { readonly kind: string };
}

/** An event with the names and dates of the API. A system event that concerns a license names it. */
export function presentEvent({ seq, chain, at }: EventPlace, event: { readonly kind: string }) {
  const { kind } = event;
  return toWire({ seq, licenseId: chain === 0 ? null : chain, at, kind, ...(event as object) });
}

/** An event for those who follow the log, as JSON: its id says where it is. */
export function presentSent({ id, licenseId, at, event }: Sent): string {
  const { seq: _, kind, ...facts } = presentEvent({ seq: 0, chain: licenseId ?? 0, at }, event);
  return JSON.stringify({ id, kind, ...facts });
}
