import type { WAIT_REASONS } from '@berth/protocol/admin/choices';
import type { Borrow, Register, RegisterFeature } from '../command.ts';
import { earlier, type Instant, plus, SECOND_MS } from '../nouns/instant.ts';
import type { LicenseId } from '../nouns/license.ts';
import type { Outcome, PlaceKey, Refused } from '../outcome.ts';
import { findProductRules } from '../rules/find-rules.ts';
import { listGroups } from '../rules/groups.ts';
import { personOf, type Rules } from '../rules/rules.ts';
import { isDuring } from '../rules/times.ts';

/** A command that can wait for a slot. */
export type Waitable = Register | RegisterFeature;

/** What kept a user from a slot when it was last looked at. */
export interface Obstacle {
  readonly why: (typeof WAIT_REASONS)[number];
  /** The rule that reserves or limits; `null`: none. */
  readonly rule: string | null;
}

/** One user in the line for a product or a feature of it. */
export interface Place extends PlaceKey, Obstacle {
  /** Those of lower numbers came first. */
  readonly n: number;
  readonly since: Instant;
  readonly priority: number;
  /** The latest request, which is decided when it is the user's turn. */
  readonly command: Waitable;
  /**
   * Until when connections of the user wait, by server; those that are gone, when they went. `REPEATS`: until
   * when the place is kept for a user who repeats the call. `nameAnswer`: how long an answer with a slot may
   * be under way; less than 0, so that nobody takes it for a connection that waits.
   */
  readonly presence: Readonly<Record<string, number>>;
  /** The license that has lent a slot which no answer has told of yet; `null`: the user still waits. */
  readonly lentBy: LicenseId | null;
}

/** In `presence`: in place of the name of a server. */
export const REPEATS = '';

/** How long a place stays after the last connection is gone. */
const GRACE_MS = 10 * SECOND_MS;

/** The server ends a wait itself, so this only matters if it is late. */
export const LATE_MS = 2 * SECOND_MS;

/** An answer is written by then, or the slot ends by its timeout. */
const ANSWER_MS = 2 * SECOND_MS;

/** Whether the refusal may end by itself, when somebody returns a slot. */
export function canWait({ code, details }: Refused): boolean {
  // What a place may take in an hour does not change when a slot is returned.
  return (
    code === 'floating_not_available' ||
    (code === 'address_limit_reached' && details.retryAfterSeconds === undefined)
  );
}

/** Why a user waits, by a refusal for which `canWait`. */
export function obstacleOf({ code, details }: Refused): Obstacle {
  const rule = typeof details.rule === 'string' ? details.rule : null;
  if ('reservedFor' in details) return { why: 'reserved', rule };
  return { why: rule === null && code === 'floating_not_available' ? 'full' : 'limit', rule };
}

/**
 * Whether an answer other than "no slot is free" ends the wait of its user. A slot of another license than
 * they wait for does not, nor does the refusal of a request that would not have waited.
 */
export function endsWait({ command: { licenseId } }: Place, wouldWait: boolean, outcome: Outcome): boolean {
  const lender = lenderOf(outcome);
  return lender === null ? wouldWait : licenseId === null || licenseId === lender;
}

/** The license that has lent a slot; `null`: none has. */
export function lenderOf(outcome: Outcome): LicenseId | null {
  if (outcome.kind === 'granted') return outcome.license.id;
  return outcome.kind === 'measured' ? outcome.licenseId : null;
}

/** Whose turn comes first, whenever they came: the highest level that the rules give them. */
export function priorityOf({ set }: Rules, product: string, command: Waitable, now: Instant): number {
  const priorities = findProductRules(set, product)?.priority ?? [];
  if (priorities.length === 0) return 0;
  const groups = listGroups(set, personOf(command));
  const own = priorities.filter((one) => groups.has(one.for) && isDuring(set, one.during, now));
  return own.length === 0 ? 0 : Math.max(...own.map(({ level }) => level));
}

export function compareTurns(a: Place, b: Place): number {
  return b.priority - a.priority || a.n - b.n;
}

/** Whether a connection of the user waits. `isAlive`: whether a server shows signs of life. */
export function isPresent({ presence }: Place, now: Instant, isAlive: (server: string) => boolean): boolean {
  return Object.entries(presence).some(
    ([server, until]) => server !== REPEATS && now < until && isAlive(server),
  );
}

/** Whether a free slot is kept for the user until they repeat the call. */
export function isKept({ presence, lentBy }: Place, now: Instant): boolean {
  return lentBy === null && now < (presence[REPEATS] ?? 0);
}

/** Whether the user has gone for good. */
export function isGone({ presence }: Place, now: Instant): boolean {
  return Object.entries(presence).every(([server, until]) => {
    if (until < 0) return now >= -until;
    return now >= (server === REPEATS ? until : until + GRACE_MS);
  });
}

/** The servers on which the user waits, or did. */
export function listServers({ presence }: Place): readonly string[] {
  return Object.keys(presence).filter((server) => server !== REPEATS && (presence[server] as number) >= 0);
}

function nameAnswer(lender: LicenseId, server: string): string {
  return `${lender} ${server}`;
}

/** A server answers a connection that has waited. `isOver`: the user waits for nothing more. */
export function withAnswer(
  place: Place,
  lender: LicenseId,
  server: string,
  isOver: boolean,
  now: Instant,
): Place {
  const { [server]: _, [REPEATS]: __, ...others } = place.presence;
  const answer = { [nameAnswer(lender, server)]: -plus(now, ANSWER_MS) };
  if (!isOver) return { ...place, presence: { ...place.presence, ...answer } };
  return { ...place, lentBy: lender, presence: { ...others, ...answer } };
}

/** Without what a server has answered, or all have; `null`: nothing was. */
export function withoutAnswer(place: Place, lender: LicenseId, server = ''): Place | null {
  const kept = Object.entries(place.presence).filter(
    ([name]) => !name.startsWith(nameAnswer(lender, server)),
  );
  const presence = Object.fromEntries(kept);
  return kept.length === Object.keys(place.presence).length ? null : { ...place, presence };
}

/** Whether a connection of the user was answered with a slot of the license. */
export function isAnswered(place: Place, lender: LicenseId | null = place.lentBy): boolean {
  return lender !== null && withoutAnswer(place, lender) !== null;
}

/** Whether a slot was lent that nobody will hear of: those who waited are gone, or their servers are. */
export function isLost(place: Place, now: Instant, isAlive: (server: string) => boolean): boolean {
  if (place.lentBy === null || isAnswered(place)) return false;
  return isGone(place, now) || !listServers(place).some(isAlive);
}

/** Until when the user waited; `null`: not at all, because whoever repeats the call was denied each time. */
export function endOfPresence({ presence }: Place, now: Instant): Instant | null {
  const { [REPEATS]: _, ...servers } = presence;
  const ends = Object.values(servers).filter((until) => until >= 0);
  return ends.length === 0 ? null : earlier(Math.max(...ends) as Instant, now);
}

/** What a command asks for; `null`: nothing that anybody waits for. */
export function wantedOf(command: Register | Borrow | RegisterFeature): string {
  return command.kind === 'register_feature' ? command.feature : WHOLE;
}

const WHOLE = '';
