import { DAY_MS, type Instant, instant, MINUTE_MS } from '@berth/server/core/nouns/instant';
import { replayNaively } from './naive-what-if.ts';

/** One change of a curve. Of changes at the same instant, expiries come first. */
interface Change {
  readonly at: number;
  readonly inUse: number;
  readonly borrowed: number;
  readonly kind: 'grant' | 'return' | 'expiry' | 'borrow' | 'borrow_end';
}

interface Slot {
  readonly user: string;
  readonly since: number;
  endsAt: number;
  borrowedUntil: number | null;
}

interface Denied {
  readonly at: number;
  readonly user: string;
  readonly reason: string;
}

/** Everything that happened to one license, or to one feature, written down as it was answered. */
export class UsageRecord {
  readonly slots = new Map<string, Slot>();
  readonly changes: Change[] = [];
  readonly denied: Denied[] = [];
  readonly ended: { readonly user: string; readonly heldMs: number }[] = [];
  readonly granted: string[] = [];
  /** When the license was added. */
  readonly #beginsAt: number;

  constructor(beginsAt: number) {
    this.#beginsAt = beginsAt;
  }

  grant(user: string, now: number, endsAt: number, borrowedUntil: number | null): void {
    const held = this.slots.get(user);
    if (held === undefined) {
      this.slots.set(user, { user, since: now, endsAt, borrowedUntil: null });
      this.changes.push({ at: now, inUse: 1, borrowed: 0, kind: 'grant' });
      this.granted.push(user);
    }
    const slot = this.slots.get(user) as Slot;
    slot.endsAt = endsAt;
    if (slot.borrowedUntil !== borrowedUntil && borrowedUntil !== null)
      this.#borrow(slot, now, borrowedUntil);
  }

  #borrow(slot: Slot, now: number, until: number): void {
    if (slot.borrowedUntil === null || slot.borrowedUntil <= now) {
      if (slot.borrowedUntil !== null) this.#endBorrow(slot.borrowedUntil);
      this.changes.push({ at: now, inUse: 0, borrowed: 1, kind: 'borrow' });
    }
    slot.borrowedUntil = until;
  }

  #endBorrow(at: number): void {
    this.changes.push({ at, inUse: 0, borrowed: -1, kind: 'borrow_end' });
  }

  end(user: string, at: number, kind: 'return' | 'expiry'): void {
    const slot = this.slots.get(user);
    if (slot === undefined) return;
    this.slots.delete(user);
    if (slot.borrowedUntil !== null) this.#endBorrow(Math.min(slot.borrowedUntil, at));
    this.changes.push({ at, inUse: -1, borrowed: 0, kind });
    this.ended.push({ user, heldMs: at - slot.since });
  }

  /** `endOf`: when the user's slot of the license ended, for a feature. */
  expire(now: number, endOf: (user: string) => number = () => Number.POSITIVE_INFINITY): void {
    for (const { user, endsAt } of [...this.slots.values()]) {
      const end = Math.min(endsAt, endOf(user));
      if (end <= now) this.end(user, end, 'expiry');
    }
  }

  /** The changes in order, with borrows that have ended by now. */
  listChanges(now: number): readonly Change[] {
    const open = [...this.slots.values()].flatMap(({ borrowedUntil }): Change[] =>
      borrowedUntil !== null && borrowedUntil <= now
        ? [{ at: borrowedUntil, inUse: 0, borrowed: -1, kind: 'borrow_end' }]
        : [],
    );
    const rank = ({ kind }: Change) => (kind === 'expiry' || kind === 'borrow_end' ? 0 : 1);
    return [...this.changes, ...open].sort((a, b) => a.at - b.at || rank(a) - rank(b));
  }

  /** What the report must say of each step in which something happened. */
  points(stepMs: number, now: number) {
    const starts = [...this.listChanges(now), ...this.denied].map(({ at }) => at - (at % stepMs));
    return [...new Set(starts)].sort((a, b) => a - b).map((start) => this.pointAt(start, stepMs, now));
  }

  pointAt(start: number, stepMs: number, now: number) {
    const changes = this.listChanges(now);
    const begin = Math.max(start, this.#beginsAt);
    const end = Math.min(start + stepMs, now);
    const within = changes.filter(({ at }) => at >= start && at < start + stepMs);
    let inUse = changes.filter(({ at }) => at < start).reduce((sum, one) => sum + one.inUse, 0);
    let borrowed = changes.filter(({ at }) => at < start).reduce((sum, one) => sum + one.borrowed, 0);
    let peak = inUse;
    let area = 0;
    let last = begin;
    for (const change of within) {
      area += inUse * (change.at - last);
      last = change.at;
      inUse += change.inUse;
      borrowed += change.borrowed;
      peak = Math.max(peak, inUse);
    }
    area += inUse * (end - last);
    const count = (...kinds: Change['kind'][]) => within.filter(({ kind }) => kinds.includes(kind)).length;
    return {
      at: instant(begin),
      inUse,
      average: end > begin ? area / (end - begin) : inUse,
      peak,
      borrowed,
      grants: count('grant'),
      returns: count('return', 'expiry'),
      denials: this.denied.filter(({ at }) => at >= start && at < start + stepMs).length,
    };
  }

  users() {
    const names = [
      ...this.granted,
      ...this.denied.map(({ user }) => user),
      ...this.ended.map(({ user }) => user),
    ];
    return [...new Set(names)].map((user) => ({
      user,
      grants: this.granted.filter((one) => one === user).length,
      denials: this.denied.filter((one) => one.user === user).length,
      sessions: this.ended.filter((one) => one.user === user).length,
      heldMs: this.ended.filter((one) => one.user === user).reduce((sum, one) => sum + one.heldMs, 0),
    }));
  }

  /** In whole minutes, rounded to two digits from 100 on; of two in the middle, the lower one. */
  median(): number | null {
    const minutes = this.ended.map(({ heldMs }) => Math.max(1, Math.round(heldMs / MINUTE_MS)));
    const rounded = minutes.map((one) => (one < 100 ? one : Number(one.toPrecision(2))));
    return rounded.sort((a, b) => a - b)[Math.ceil(rounded.length / 2) - 1] ?? null;
  }

  whatIf(from: Instant, now: Instant, n: number) {
    const denied = this.denied.filter(({ reason }) => reason === 'floating_not_available');
    const minuteOf = (at: number) => Math.floor(at / MINUTE_MS);
    const grants = Map.groupBy(
      this.changes.filter(({ kind }) => kind === 'grant'),
      ({ at }) => minuteOf(at),
    );
    return replayNaively(
      {
        from: minuteOf(from),
        to: Math.ceil(now / MINUTE_MS),
        use: (minute) => this.pointAt(minute * MINUTE_MS, MINUTE_MS, now).peak,
        grants: [...grants].map(([minute, list]) => ({ minute, count: list.length })),
        denied: denied.map(({ at, user }) => ({ who: user, first: minuteOf(at), last: minuteOf(at) })),
        duration: this.median() ?? 1,
      },
      n,
    );
  }
}

/** Consumption by days. */
export class ConsumptionRecord {
  readonly #days = new Map<number, number>();

  add(now: number, amount: number): void {
    const day = now - (now % DAY_MS);
    this.#days.set(day, (this.#days.get(day) ?? 0) + amount);
  }

  list(): readonly (readonly [Instant, number])[] {
    return [...this.#days].sort(([a], [b]) => b - a).map(([day, amount]) => [instant(day), amount]);
  }
}
