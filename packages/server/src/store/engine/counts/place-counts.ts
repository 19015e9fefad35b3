import { addTo } from '../../../core/rules/reservations.ts';
import type { PlaceKind } from '../../../core/rules/rule-set.ts';

/** What is counted by place: slots of the license or, if not empty, of a feature. */
export interface CountedKind {
  readonly feature: string;
  readonly kind: PlaceKind;
}

/** How many slots are held at which host or address. */
export interface PlaceCounts {
  countAt(place: string): number;
  add(place: string, difference: number): void;
}

/** Begins to count something. */
export type CountPlaces = (counted: CountedKind) => PlaceCounts;

/** For a store with one writer, which counts anew when it starts. */
export class PlacesInMemory implements PlaceCounts {
  readonly #slots = new Map<string, number>();

  countAt(place: string): number {
    return this.#slots.get(place) ?? 0;
  }

  add(place: string, difference: number): void {
    addTo(this.#slots, place, difference);
  }
}
