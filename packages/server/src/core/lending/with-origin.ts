import type { Decision } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';

/** Events that a command only comes across: the sender did not cause them. */
const FOUND: ReadonlySet<LicenseEvent['kind']> = new Set([
  'slot_expired',
  'feature_expired',
  'denials_repeated',
]);

/** Names the sender of a command, and their address, on every event that they caused. */
export function withOrigin(decision: Decision, command: object): Decision {
  const by = 'by' in command ? (command.by as Actor | undefined) : undefined;
  if (by === undefined || decision.events.length === 0) return decision;
  return { ...decision, events: decision.events.map((event) => sign(event, by)) };
}

function sign(event: LicenseEvent, by: Actor): LicenseEvent {
  return FOUND.has(event.kind) || event.by != null ? event : { ...event, by };
}
