import { placeOf } from '@berth/protocol/address-range';
import { LIMITS } from '../../config.ts';
import type { Borrow, Register, RegisterFeature } from '../../core/command.ts';
import { addressOf } from '../../core/nouns/actor.ts';
import { HOUR_MS, type Instant } from '../../core/nouns/instant.ts';
import type { Executed, Store } from '../../store/store.ts';
import type { Patience, WaitingRoom } from './waiting-room.ts';

/** The commands that lend a slot, or renew it. */
type Taking = Register | Borrow | RegisterFeature;

/** Executes a command that may take a slot, and counts it if it did. */
export type TakeSlot = (command: Taking, patience?: Patience) => Promise<Executed>;

interface NewSlotOptions {
  readonly settings: { readonly current: NewSlotSettings };
  readonly readMonotonicMs: () => number;
}

interface NewSlotSettings {
  readonly limits: NewSlotLimits;
  readonly lending: { readonly holdForRetries: number };
}

interface NewSlotLimits {
  /** How many new slots and borrows one address gets within an hour; 0 means no limit. */
  readonly newSlotsPerHour: number;
}

/** What an address has taken in its hour, and how many of its requests are being decided. */
interface Account {
  readonly place: string;
  endsMs: number;
  taken: number;
  asking: number;
}

/**
 * Every slot that is lent leaves rows and events behind, so a client that takes and returns slots under new
 * names would fill the disk. Only the decision knows whether a request renews: it is told that the address
 * has had its share, and then refuses what is new. A request that is under way counts as a new slot until it
 * is answered, so that many at once do not get more than the limit.
 */
export function createTakeSlot(store: Store, room: WaitingRoom, options: NewSlotOptions): TakeSlot {
  const { settings, readMonotonicMs } = options;
  // In the order in which their hours end.
  const accounts = new Map<string, Account>();

  function open(place: string, nowMs: number): Account {
    const known = accounts.get(place);
    if (known !== undefined && nowMs < known.endsMs) return known;
    const account = known ?? { place, endsMs: 0, taken: 0, asking: 0 };
    account.endsMs = nowMs + HOUR_MS;
    account.taken = 0;
    accounts.delete(place);
    accounts.set(place, account);
    if (accounts.size > LIMITS.countedAddresses) accounts.delete(accounts.keys().next().value as string);
    return account;
  }

  async function take(
    place: string,
    command: Taking,
    limit: number,
    lender: Lender,
    patience?: Patience,
  ): Promise<Executed> {
    const nowMs = readMonotonicMs();
    const account = open(place, nowMs);
    const isSpent = account.taken + account.asking >= limit;
    const asked = isSpent ? withSpent(command, limit, account, nowMs) : command;
    account.asking += 1;
    try {
      const outcome = await lender.execute(asked, patience);
      if (hasTaken(command, outcome, patience?.since)) account.taken += 1;
      return outcome;
    } finally {
      account.asking -= 1;
      // Heartbeats alone leave nothing to remember.
      if (account.taken + account.asking === 0 && accounts.get(place) === account) accounts.delete(place);
    }
  }

  return (command, patience) => {
    const { limits, lending } = settings.current;
    const isPlain = patience === undefined && lending.holdForRetries === 0;
    const lender: Lender = isPlain || command.kind === 'borrow' ? store : (room as Lender);
    const limit = limits.newSlotsPerHour;
    const address = limit === 0 ? null : addressOf(command.by);
    return address === null
      ? lender.execute(command, patience)
      : take(placeOf(address), command, limit, lender, patience);
  };
}

/** The store itself, or the room for those who wait. */
interface Lender {
  execute: TakeSlot;
}

function withSpent(command: Taking, limit: number, { taken, endsMs }: Account, nowMs: number): Taking {
  const waitMs = taken < limit ? 0 : endsMs - nowMs;
  const spent = { limit, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
  return { ...command, spent };
}

/** A renewal moves a timer, unless the slot was lent while its client waited. A borrow is an event. */
function hasTaken(command: Taking, outcome: Executed, waitedSince: Instant | null = null): boolean {
  const slot =
    outcome.kind === 'granted' ? outcome.registration : outcome.kind === 'measured' && outcome.slot;
  if (!slot || (outcome.kind !== 'granted' && outcome.kind !== 'measured')) return false;
  const isBorrow =
    command.kind === 'borrow' || (command.kind === 'register_feature' && command.until !== null);
  return isBorrow || slot.registeredAt >= (waitedSince ?? outcome.now);
}
