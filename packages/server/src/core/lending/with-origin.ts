import type { LicenseCommand } from '../command.ts';
import type { Decision } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';

/** What clients ask for. The other commands say themselves on which of their events somebody stands. */
const OF_CLIENTS: ReadonlySet<LicenseCommand['kind']> = new Set([
  'register',
  'borrow',
  'unregister',
  'add_consumption',
  'register_feature',
  'release_feature',
]);

/** Events that a command only comes across: nobody who asks has caused them. */
const FOUND: ReadonlySet<LicenseEvent['kind']> = new Set([
  'slot_expired',
  'feature_expired',
  'denials_repeated',
]);

/** Writes on every event that a client caused who they were and where they came from. */
export function withOrigin(decision: Decision, command: LicenseCommand): Decision {
  if (decision.events.length === 0 || !OF_CLIENTS.has(command.kind)) return decision;
  const by = 'by' in command ? command.by : undefined;
  if (by === undefined) return decision;
  return { ...decision, events: decision.events.map((event) => sign(event, by)) };
}

function sign(event: LicenseEvent, by: Actor): LicenseEvent {
  return FOUND.has(event.kind) || event.by != null ? event : { ...event, by };
}
