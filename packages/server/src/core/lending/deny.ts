import { placeOf } from '@berth/protocol/address-range';
import type { ErrorCode } from '@berth/protocol/errors';
import type { Change, Decision } from '../decision.ts';
import { type Actor, addressOf } from '../nouns/actor.ts';
import type { Denied, LicenseEvent } from '../nouns/audit-event.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../nouns/instant.ts';
import type { HostInfo } from '../nouns/registration.ts';
import type { Refused } from '../outcome.ts';
import type { Denial, LicenseView, PlaceDenial } from '../view.ts';
import { type Collected, collectedChanges } from './collect.ts';

/** Within this time, a user's repeated denials are counted and become no events. */
export const DENIAL_WINDOW_MS = MINUTE_MS;

/**
 * Within this time, at most this many denials from one place become events of a license; the rest is counted.
 * A client can invent users, so a limit per user bounds nothing. The number is large enough for an office
 * behind one address whose people all start work at the same minute.
 */
export const PLACE_DENIALS = 500;
export const PLACE_WINDOW_MS = HOUR_MS;

/** A command that may be denied. */
interface Deniable {
  readonly feature?: string | null;
  readonly user: string | null;
  readonly host?: HostInfo;
  readonly by?: Actor;
}

/**
 * Refuses, and leaves a trace. A user's first denial is recorded; more within the window are only counted,
 * and the next record carries the count, so that a client in a retry loop cannot flood the chain. A
 * client that invents users cannot either: once its place has had its share, first denials are only counted
 * there. Every denial is in exactly one event or counter.
 */
function deny(
  kind: Denied['kind'],
  command: Deniable,
  view: LicenseView,
  base: Collected,
  refusal: Refused,
  now: Instant,
): Decision {
  const { changes, events } = trace(view, kind, command, refusal, now);
  return {
    outcome: refusal,
    changes: [...collectedChanges(view, base), ...changes],
    events: [...base.events, ...events],
  };
}

export const denySlot = deny.bind(null, 'slot_denied');
export const denyConsumption = deny.bind(null, 'consumption_denied');

type Trace = Pick<Decision, 'changes' | 'events'>;

function trace(
  view: LicenseView,
  kind: Denied['kind'],
  command: Deniable,
  { code, details: { rule }, recorded: facts }: Refused,
  now: Instant,
): Trace {
  const feature = command.feature ?? WHOLE_LICENSE;
  const earlier = view.listDenials(command.user ?? NO_USER);
  const last = earlier.find((denial) => denial.code === code && denial.feature === feature);
  if (last !== undefined && isInWindow(last, DENIAL_WINDOW_MS, now)) {
    const denial = { ...last, repeated: last.repeated + 1 };
    return { changes: [{ kind: 'put_denial', denial }], events: [] };
  }
  const place = deniedPlace(command.by);
  const reason = { code, ...facts, ...(typeof rule === 'string' && { rule }) };
  const recorded = () => recordFirst(kind, command, reason, last, now);
  if (place === null) return recorded();
  const fromPlace = view.listPlaceDenials(place);
  const isOver = countRecorded(fromPlace, now) >= PLACE_DENIALS;
  const counted = countAt(fromPlace, place, code, isOver ? 'repeated' : 'recorded', now);
  const first = isOver ? NOTHING : recorded();
  return {
    changes: [...first.changes, ...counted.changes],
    events: [...counted.events, ...first.events],
  };
}

const NOTHING: Trace = { changes: [], events: [] };

function recordFirst(
  kind: Denied['kind'],
  { feature = null, user, host }: Deniable,
  reason: Pick<Denied, 'code' | 'barred' | 'barredBy' | 'rule'>,
  last: Denial | undefined,
  now: Instant,
) {
  const subject = { user: user ?? NO_USER, feature: feature ?? WHOLE_LICENSE };
  const repeated = last?.repeated ?? 0;
  const about = {
    ...(feature === null ? {} : { feature }),
    user,
    ...(host?.hostname == null ? {} : { hostname: host.hostname }),
  };
  const event = { kind, ...about, ...reason, repeated } as LicenseEvent;
  const denial: Denial = { ...subject, code: reason.code, deniedAt: now, repeated: 0 };
  return { changes: [{ kind: 'put_denial', denial } as const], events: [event] };
}

/** Counts one more at the place; an event carries the count of an earlier window. */
function countAt(
  known: readonly PlaceDenial[],
  place: string,
  code: ErrorCode,
  counter: 'recorded' | 'repeated',
  now: Instant,
): Trace {
  const last = known.find((denial) => denial.code === code);
  const isOpen = last !== undefined && isInWindow(last, PLACE_WINDOW_MS, now);
  const before = isOpen ? last : { place, code, deniedAt: now, recorded: 0, repeated: 0 };
  const denial = { ...before, [counter]: before[counter] + 1 };
  const carried = last === undefined || isOpen ? [] : carryPlaceRepeats(last);
  return { changes: [{ kind: 'put_place_denial', denial }], events: carried };
}

function countRecorded(known: readonly PlaceDenial[], now: Instant): number {
  const open = known.filter((denial) => isInWindow(denial, PLACE_WINDOW_MS, now));
  return open.reduce((sum, { recorded }) => sum + recorded, 0);
}

/** The place that a request came from; `null`: it did not come over the network. */
export function deniedPlace(by: Actor | undefined): string | null {
  const address = addressOf(by);
  return address === null ? null : placeOf(address);
}

/** Records the count of a counter that is about to be deleted. */
export function carryRepeats({ user, feature, code, repeated }: Denial): readonly LicenseEvent[] {
  if (repeated === 0) return [];
  const subject = feature === WHOLE_LICENSE ? {} : { feature };
  return [{ kind: 'denials_repeated', ...subject, user: user === NO_USER ? null : user, code, repeated }];
}

/** Empties a place's counter, or removes it when its window is over. */
export function tidyPlace(denial: PlaceDenial, now: Instant): Change {
  return isInWindow(denial, PLACE_WINDOW_MS, now)
    ? { kind: 'put_place_denial', denial: { ...denial, repeated: 0 } }
    : { kind: 'remove_place_denial', denial };
}

/** The users are unknown. */
export function carryPlaceRepeats({ place, code, repeated }: PlaceDenial): readonly LicenseEvent[] {
  if (repeated === 0) return [];
  const by = { name: 'client', address: place };
  return [{ kind: 'denials_repeated', user: null, code, repeated, by }];
}

/** In place of a user that was not named: names are never empty. */
export const NO_USER = '';

function isInWindow({ deniedAt }: Pick<Denial, 'deniedAt'>, windowMs: number, now: Instant): boolean {
  return deniedAt <= now && now < deniedAt + windowMs;
}
