import { type Actor, addressOf } from './actor.ts';
import type { Instant } from './instant.ts';

/** What the application says about its user's machine. It describes; it never identifies. */
export interface HostInfo {
  readonly hostname: string | null;
  readonly address: string | null;
  readonly info: string | null;
}

/**
 * The programs that use a slot: those that have joined and not left, by the names that their requests carry
 * (`instance`). It is one text, so that heartbeats compare and store it as it is: a line for each program, in
 * the order in which they joined. Programs without a name have one empty line together, the first. `null`:
 * only these, as with all clients that send no names.
 */
export type Programs = string | null;

/** One user holding one slot of a license. There is at most one per license and user. */
export interface Registration {
  readonly user: string;
  /** How the user was spelled when the slot was lent, if not like the name; see `user-name.ts`. */
  readonly spelling?: string;
  readonly host: HostInfo;
  /** The address that the last register or borrow came from: a fact, unlike `host.address`. */
  readonly origin: string | null;
  /** Where the rules count the slot, if not at `host` and `origin`; see `count-slots.ts`. */
  readonly countedAt?: CountedAt;
  /** The credentials that came with it; `null`: clients need none. */
  readonly credential: string | null;
  readonly registeredAt: Instant;
  /** When the slot is free: at the heartbeat's timeout or the end of the borrow, whichever is later. */
  readonly endsAt: Instant;
  readonly borrowedUntil: Instant | null;
  readonly programs: Programs;
}

/** A place at which a slot is counted. */
export interface CountedAt {
  readonly hostname: string | null;
  readonly address: string | null;
}

/** What a register or a borrow says about its sender. */
interface Asking {
  readonly host: HostInfo;
  readonly by?: Actor;
  readonly credential?: string;
  readonly instance?: string;
}

/** Keeps the known facts about a holder unless the request has newer ones. Its credential always counts. */
export function holderFacts({ host, by, credential, instance }: Asking, held: Registration | null) {
  const programs = held?.programs ?? null;
  return {
    host: {
      hostname: host.hostname ?? held?.host.hostname ?? null,
      address: host.address ?? held?.host.address ?? null,
      info: host.info ?? held?.host.info ?? null,
    },
    origin: addressOf(by) ?? held?.origin ?? null,
    credential: credential ?? null,
    // Without names there is nothing to do, which is the case for most heartbeats.
    programs: instance === undefined && programs === null ? null : joinSlot(held?.programs, instance),
  };
}

/** A holder with a slot. Made for every heartbeat: writing out all fields is faster than copying some. */
export function slotOf(
  { user, spelling }: Pick<Registration, 'user' | 'spelling'>,
  { host, origin, credential, programs }: ReturnType<typeof holderFacts>,
  { registeredAt, endsAt, borrowedUntil }: Pick<Registration, 'registeredAt' | 'endsAt' | 'borrowedUntil'>,
): Registration {
  const slot = { user, host, origin, credential, registeredAt, endsAt, borrowedUntil, programs };
  return spelling === undefined ? slot : { ...slot, spelling };
}

export function isSameHolder(a: Registration, b: Registration): boolean {
  return (
    a.origin === b.origin &&
    a.countedAt === b.countedAt &&
    a.credential === b.credential &&
    a.programs === b.programs &&
    a.host.hostname === b.host.hostname &&
    a.host.address === b.host.address &&
    a.host.info === b.host.info
  );
}

export function isLive(registration: Registration, now: Instant): boolean {
  return now < registration.endsAt;
}

/** The registration if it is live. */
export function orNoSlot(registration: Registration | null, now: Instant): Registration | null {
  return registration !== null && isLive(registration, now) ? registration : null;
}

/** Until when the holder surely has the slot: the end of the borrow, or else of the slot. */
export function heldUntil(registration: Registration, now: Instant): Instant {
  return isBorrowed(registration, now) ? (registration.borrowedUntil as Instant) : registration.endsAt;
}

export function isBorrowed({ borrowedUntil }: Pick<Registration, 'borrowedUntil'>, now: Instant): boolean {
  return borrowedUntil !== null && now < borrowedUntil;
}

/** A borrowed slot that every program has left. */
const NOBODY = '';

/** So many names are kept. Those of programs that crashed stay among them while others renew the slot. */
const MAX_NAMES = 32;

/** The same value if the program has joined before. Beyond the limit, the first to join is forgotten. */
export function joinSlot(programs: Programs | undefined, instance: string | undefined): Programs {
  if (programs === undefined) return instance === undefined ? null : `${instance}\n`;
  if (instance === undefined) return programs === null ? null : withNameless(programs);
  if (isKnown(programs, instance)) return programs;
  const lines = linesOf(programs);
  const named = lines.filter((line) => line !== '');
  const forgotten = named.length < MAX_NAMES ? null : named[0];
  return textOf([...lines.filter((line) => line !== forgotten), instance]);
}

/** The same value if the slot does not know the program. */
export function leaveSlot(programs: Programs, instance: string): Programs {
  if (!isKnown(programs, instance)) return programs;
  return textOf(linesOf(programs).filter((line) => line !== instance));
}

/** Whether nobody is left. */
export function isAbandoned(programs: Programs): boolean {
  return programs === NOBODY;
}

export function countPrograms(programs: Programs): number {
  return linesOf(programs).length;
}

/** For an event: how many programs used the slot, if it was more than one. */
export function severalPrograms(programs: Programs): { readonly programs?: number } {
  const count = countPrograms(programs);
  return count > 1 ? { programs: count } : {};
}

export function isKnown(programs: Programs, instance: string): boolean {
  return programs !== null && linesOf(programs).includes(instance);
}

/** All programs of several slots that have become one. */
export function mergePrograms(all: readonly Programs[]): Programs {
  return all.reduce((merged, programs) => {
    return linesOf(programs).reduce((one: Programs, line) => joinSlot(one, line || undefined), merged);
  });
}

function withNameless(programs: string): Programs {
  return programs.startsWith('\n') ? programs : textOf(['', ...linesOf(programs)]);
}

function linesOf(programs: Programs): readonly string[] {
  return programs === null ? [''] : programs.split('\n').slice(0, -1);
}

function textOf(lines: readonly string[]): Programs {
  return lines.length === 1 && lines[0] === '' ? null : lines.map((line) => `${line}\n`).join('');
}
