import type { LicenseCommand } from '../../packages/server/src/core/command.ts';
import { findFeature } from '../../packages/server/src/core/nouns/feature-slot.ts';
import {
  bucketStart,
  DAY_MS,
  HOUR_MS,
  type Instant,
  instant,
  MINUTE_MS,
} from '../../packages/server/src/core/nouns/instant.ts';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import type { ManualClock } from '../../packages/server/src/store/clock.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import {
  borrow,
  consume,
  register,
  registerFeature,
  unregister,
} from '../../packages/server/test/core/examples.ts';
import { createRandom, pickNumber, type Random } from '../support/random.ts';

/** Who works with a license. */
export interface Team {
  readonly license: License;
  /** All of them, and how many hold a slot in the end, with those who have borrowed it. */
  readonly staff: readonly Person[];
  readonly held: number;
  readonly lent: number;
  /** What they consume on a working day: of the license (''), or of a feature. */
  readonly consumed?: Readonly<Record<string, number>>;
}

export interface Person {
  readonly user: string;
  readonly host: string;
  readonly address: string;
}

/** A heartbeat comes well within the timeout of ten minutes. */
const BEAT_MS = 8 * MINUTE_MS;

/** Everything that will happen, in order of time. */
class Agenda {
  readonly #entries: { readonly at: number; readonly act: () => Promise<void> }[] = [];

  add(at: number, act: () => Promise<void>): void {
    const after = this.#entries.findIndex((entry) => entry.at > at);
    this.#entries.splice(after === -1 ? this.#entries.length : after, 0, { at, act });
  }

  take() {
    return this.#entries.shift();
  }
}

/**
 * Plays the weeks of an office through the store, decision by decision, so that everything that is shown adds
 * up: people come in the morning, have lunch and leave, borrow for journeys, and are denied when it is full.
 */
export class SampleWeeks {
  readonly #store: Store;
  readonly #clock: ManualClock;
  readonly #now: Instant;
  readonly #random: Random = createRandom(7);
  readonly #agenda = new Agenda();
  /** The last heartbeat's command of everyone who holds a slot and has not borrowed it. */
  readonly #held = new Map<string, LicenseCommand>();

  constructor(store: Store, clock: ManualClock, now: Instant) {
    this.#store = store;
    this.#clock = clock;
    this.#now = now;
  }

  /** Plays everything up to now. */
  async play(teams: readonly Team[], weeks: number): Promise<void> {
    const today = bucketStart(this.#now, DAY_MS);
    for (const team of teams) {
      for (let day = today - weeks * 7 * DAY_MS; day <= today; day += DAY_MS) this.#planDay(team, day);
      this.#planJourneys(team, today);
    }
    const first = instant(today - weeks * 7 * DAY_MS);
    for (let at: number = first; at < this.#now; at += BEAT_MS) this.#agenda.add(at, () => this.#beat());
    for (let entry = this.#agenda.take(); entry !== undefined; entry = this.#agenda.take()) {
      if (entry.at >= this.#now) break;
      this.#passTo(entry.at);
      await entry.act();
    }
    this.#passTo(this.#now - MINUTE_MS);
    await this.#beat();
  }

  /** Consumption of a year, a little on every working day. */
  async consumeSince(since: Instant, product: string, aDay: number): Promise<void> {
    for (let day: number = since; day < this.#now - 30 * DAY_MS; day += DAY_MS) {
      if (!isWorkingDay(day)) continue;
      this.#passTo(day + 10 * HOUR_MS);
      await this.#store.execute(consume(this.#vary(aDay), { product }));
    }
  }

  #passTo(at: number): void {
    this.#clock.advance(Math.max(0, at - this.#clock.readWall()));
  }

  #pick(from: number, to: number): number {
    return pickNumber(this.#random, { from, to });
  }

  #vary(amount: number): number {
    return Math.round(amount * (0.7 + 0.6 * this.#random()));
  }

  /** A time of a day, in hours. */
  #time(day: number, fromHour: number, toHour: number): number {
    return day + Math.round((fromHour + (toHour - fromHour) * this.#random()) * HOUR_MS);
  }

  async #beat(): Promise<void> {
    await Promise.all([...this.#held.values()].map((command) => this.#store.execute(command)));
  }

  #planDay(team: Team, day: number): void {
    const isToday = day + DAY_MS > this.#now;
    if (isWorkingDay(day)) this.#planConsumption(team, day);
    const present = isToday ? team.held - team.lent : this.#countPresent(team, day);
    const some = team.staff.slice(team.lent);
    const order = isToday ? some : some.toSorted(() => this.#random() - 0.5);
    for (const person of order.slice(0, present)) this.#planPerson(team, person, day);
    // Those for whom no slot is left.
    if (isToday && team.held === team.license.slots) {
      for (const person of some.slice(present, present + 4)) {
        this.#agenda.add(this.#time(day, 13.6, 14.2), () => this.#take(team, person, day + 17 * HOUR_MS, 3));
      }
    }
  }

  #countPresent({ staff, lent, held }: Team, day: number): number {
    if (held === 0) return 0;
    const weekday = new Date(day).getUTCDay();
    if (!isWorkingDay(day)) return staff.length > 12 ? this.#pick(0, 2) : 0;
    const share = [0, 0.78, 0.9, 0.94, 0.9, 0.7, 0][weekday] ?? 0;
    return Math.round((staff.length - lent) * (share + 0.1 * (this.#random() - 0.5)));
  }

  /** Before lunch and after it; some work through. */
  #planPerson(team: Team, person: Person, day: number): void {
    const isWeekend = !isWorkingDay(day);
    const start = isWeekend ? this.#time(day, 10, 14) : this.#time(day, 7.6, 9.9);
    const end = isWeekend ? start + 2 * HOUR_MS : this.#time(day, 15.6, 18.6);
    const take = (at: number, until: number) =>
      this.#agenda.add(at, () => this.#take(team, person, until, this.#pick(1, 6)));
    const hasLunch = !isWeekend && this.#random() < 0.7;
    take(start, hasLunch ? this.#time(day, 11.7, 12.4) : end);
    if (hasLunch) take(this.#time(day, 12.6, 13.3), end);
  }

  async #take(team: Team, person: Person, until: number, tries: number): Promise<void> {
    const { product, features } = team.license;
    const key = `${product} ${person.user}`;
    if (this.#held.has(key)) return;
    const { user, host: hostname, address } = person;
    const by = { name: 'client', address };
    const command = register(user, { product, by }, { hostname, address, info: null });
    const { kind } = await this.#store.execute(command);
    const at = this.#clock.readWall();
    if (kind !== 'granted') {
      const next = at + this.#pick(3, 11) * MINUTE_MS;
      if (tries > 0 && next < until) this.#agenda.add(next, () => this.#take(team, person, until, tries - 1));
      return;
    }
    this.#held.set(key, command);
    this.#agenda.add(Math.max(until, at + MINUTE_MS), async () => {
      this.#held.delete(key);
      await this.#store.execute(unregister(user, { product }));
    });
    const floating = features.filter(({ code }) => findFeature(team.license, code)?.floating !== null);
    const wanted = floating[this.#pick(0, Math.max(1, floating.length))];
    if (wanted === undefined) return;
    const asked = registerFeature(user, { product, feature: wanted.code, by });
    if ((await this.#store.execute(asked)).kind === 'measured')
      this.#held.set(`${key} ${wanted.code}`, asked);
    this.#agenda.add(Math.max(until, at + MINUTE_MS) - 1, async () => {
      this.#held.delete(`${key} ${wanted.code}`);
    });
  }

  /** The first of the staff travel: one after the other, and all of them today. */
  #planJourneys({ license, staff, lent }: Team, today: number): void {
    for (const [index, { user, host: hostname, address }] of staff.slice(0, lent).entries()) {
      const go = (day: number, days: number) => {
        const at = this.#time(day, 15.5, 17.5);
        const until = instant(day + days * DAY_MS + 9 * HOUR_MS);
        const facts = { product: license.product, by: { name: 'client', address } };
        this.#agenda.add(at, async () => {
          const host = { hostname: hostname.replace('ws', 'nb'), address, info: null };
          await this.#store.execute(borrow(user, until, { ...facts, host }));
        });
      };
      for (let week = 3; week >= 1; week--)
        go(today - week * 7 * DAY_MS - (index % 4) * DAY_MS, this.#pick(1, 4));
      go(today - (1 + (index % 3)) * DAY_MS, 2 + (index % 3) + ((index * 2) % 4));
    }
  }

  #planConsumption({ license: { product }, consumed = {} }: Team, day: number): void {
    for (const [code, aDay] of Object.entries(consumed)) {
      for (const hour of [9, 10.5, 13, 14, 15.5, 16.5]) {
        const facts = { product, feature: code === '' ? null : code };
        this.#agenda.add(this.#time(day, hour, hour + 1), async () => {
          await this.#store.execute(consume(this.#vary(aDay / 6), facts));
        });
      }
    }
  }
}

function isWorkingDay(day: number): boolean {
  return ![0, 6].includes(new Date(day).getUTCDay());
}
