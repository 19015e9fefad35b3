import { type Instant, MINUTE_MS } from '../nouns/instant.ts';
import { nameReservation } from '../rules/judge-slot.ts';
import { countStillToCome, type HeldByGroups } from '../rules/reservations.ts';
import type { Reservation, RuleSet } from '../rules/rule-set.ts';
import { isDuring } from '../rules/times.ts';

/** How often it is looked whether a reservation applies at the time. */
const STEP_MS = 5 * MINUTE_MS;

interface Area {
  /** Reserved slots that were kept free, times milliseconds. */
  kept: number;
  /** All that was reserved. */
  reserved: number;
}

/** How much of what is reserved was kept free and used by nobody. */
export class Unused {
  readonly #rules: RuleSet;
  readonly #reservations: readonly Reservation[];
  readonly #areas: readonly Area[];
  #from: Instant;

  constructor(rules: RuleSet, reservations: readonly Reservation[], from: Instant) {
    this.#rules = rules;
    this.#reservations = reservations;
    this.#areas = reservations.map(() => ({ kept: 0, reserved: 0 }));
    this.#from = from;
  }

  /** Until now, this was held and so many were free. */
  pass(until: Instant, held: HeldByGroups, free: number): void {
    let from: number = this.#from;
    let known = { key: '', kept: [] as readonly number[] };
    while (from < until) {
      const to = Math.min(until, from - (from % STEP_MS) + STEP_MS);
      const active = this.#reservations.map(({ during }) => isDuring(this.#rules, during, from as Instant));
      const key = active.join();
      if (known.key !== key) known = { key, kept: this.#measure(active, held, free) };
      for (const [index, area] of this.#areas.entries()) {
        if (!active[index]) continue;
        area.kept += (known.kept[index] as number) * (to - from);
        area.reserved += (this.#reservations[index]?.slots as number) * (to - from);
      }
      from = to;
    }
    this.#from = until;
  }

  /** Until now, there was nothing to reserve. */
  skip(until: Instant): void {
    this.#from = until;
  }

  list(): readonly { readonly line: number; readonly text: string; readonly unusedShare: number | null }[] {
    return this.#reservations.map((one, index) => {
      const { kept, reserved } = this.#areas[index] as Area;
      const unusedShare = reserved === 0 ? null : kept / reserved;
      return { line: one.line, text: nameReservation(one), unusedShare };
    });
  }

  /** How many slots each reservation keeps free: by so many more are to come because of it. */
  #measure(active: readonly boolean[], held: HeldByGroups, free: number): readonly number[] {
    const all = this.#reservations.filter((_, index) => active[index]);
    const toCome = countStillToCome(all, held);
    return this.#reservations.map((one, index) => {
      if (!active[index]) return 0;
      const others = all.filter((other) => other !== one);
      return Math.min(free, toCome - countStillToCome(others, held));
    });
  }
}
