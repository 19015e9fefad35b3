import type { CountedAs, HeldSlots } from '../rules/judge-slot.ts';
import { addTo } from '../rules/reservations.ts';
import type { PlaceKind } from '../rules/rule-set.ts';

/** Held slots of one license or feature, by what they count as. */
export class SlotCounts implements HeldSlots {
  readonly byGroups = new Map<string, number>();
  readonly #places = new Map<string, number>();
  #held = 0;

  get held(): number {
    return this.#held;
  }

  countAt(kind: PlaceKind, place: string): number {
    return this.#places.get(`${kind} ${place}`) ?? 0;
  }

  /** `by`: 1, or -1 for a slot that is given back. */
  add({ groups, host, address }: CountedAs, by: 1 | -1): void {
    this.#held += by;
    addTo(this.byGroups, groups, by);
    if (host !== null) addTo(this.#places, `host ${host}`, by);
    if (address !== null) addTo(this.#places, `address ${address}`, by);
  }
}

/** What is held of several licenses together. */
export function sumCounts(all: readonly SlotCounts[]): HeldSlots {
  const [only, ...others] = all;
  if (only !== undefined && others.length === 0) return only;
  const byGroups = new Map<string, number>();
  for (const counts of all) for (const [key, slots] of counts.byGroups) addTo(byGroups, key, slots);
  const countAt: HeldSlots['countAt'] = (kind, place) =>
    all.reduce((sum, counts) => sum + counts.countAt(kind, place), 0);
  return { byGroups, countAt };
}
