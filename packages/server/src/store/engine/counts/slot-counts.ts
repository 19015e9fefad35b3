import type { CountedAs } from '../../../core/rules/judge-slot.ts';
import type { PlaceKind } from '../../../core/rules/rule-set.ts';
import type { StoredCounts } from './stored-counts.ts';

/** Where slots are counted. `feature` is empty for the license itself. */
export interface CountedPlace {
  readonly feature: string;
  readonly kind: PlaceKind;
  readonly place: string;
}

/** How many slots of a license, and of its features, are held at which host or address. */
export interface PlaceCounts {
  countAt(at: CountedPlace): number;
  add(at: CountedPlace, difference: number): void;
}

/** A slot that was added, or taken away. */
interface Step {
  readonly feature: string;
  readonly as: CountedAs;
  readonly difference: number;
}

/**
 * How many slots of a license, and of its features, are held by members of which groups and at which places,
 * as the rules of one revision count them.
 */
export class SlotCounts {
  /** Of the rules. */
  readonly revision: number;
  readonly places: PlaceCounts;
  readonly #groups = new Map<string, Map<string, number>>();
  /** What the running batch has changed, to undo it. */
  #steps: Step[] = [];
  /** What the row stores; `null`: not written yet. */
  #stored: string | null = null;
  #changes = 0;

  constructor(revision: number, places: PlaceCounts) {
    this.revision = revision;
    this.places = places;
  }

  static read(stored: string, places: PlaceCounts): SlotCounts {
    const { revision, groups } = JSON.parse(stored) as StoredCounts;
    const counts = new SlotCounts(revision, places);
    for (const [feature, slots] of groups) counts.#groups.set(feature, new Map(slots));
    counts.#stored = stored;
    return counts;
  }

  /** All slots are counted, which is undone as a whole. */
  finish(): void {
    this.#steps = [];
  }

  add(feature: string, as: CountedAs, difference: number): void {
    this.#steps.push({ feature, as, difference });
    this.#add(feature, as, difference);
  }

  #add(feature: string, { groups, host, address }: CountedAs, difference: number): void {
    this.#changes += 1;
    addTo(
      this.#groups.getOrInsertComputed(feature, () => new Map()),
      groups,
      difference,
    );
    if (host !== null) this.places.add({ feature, kind: 'host', place: host }, difference);
    if (address !== null) this.places.add({ feature, kind: 'address', place: address }, difference);
  }

  listGroups(feature: string): ReadonlyMap<string, number> {
    return this.#groups.get(feature) ?? NOTHING;
  }

  /** Another text after every change within a batch. */
  describe(feature: string): string {
    return JSON.stringify([...this.listGroups(feature), this.#changes]);
  }

  /** Returns how to undo whatever a command changes. */
  remember(): () => void {
    const { length } = this.#steps;
    return () => {
      for (const { feature, as, difference } of this.#steps.splice(length)) {
        this.#add(feature, as, -difference);
      }
    };
  }

  /** What the row of the license is to store. Call when the batch is decided: nothing is undone after it. */
  flush(): string {
    if (this.#stored !== null && this.#steps.length === 0) return this.#stored;
    this.#steps = [];
    const groups = Array.from(this.#groups, ([feature, slots]) => [feature, [...slots]] as const);
    this.#stored = JSON.stringify({ revision: this.revision, groups } satisfies StoredCounts);
    return this.#stored;
  }
}

/** For a store with one writer, which counts anew when it starts. */
export class PlacesInMemory implements PlaceCounts {
  readonly #kinds = new Map<string, Map<string, number>>();

  countAt({ feature, kind, place }: CountedPlace): number {
    return this.#kinds.get(kind + feature)?.get(place) ?? 0;
  }

  add({ feature, kind, place }: CountedPlace, difference: number): void {
    addTo(
      this.#kinds.getOrInsertComputed(kind + feature, () => new Map()),
      place,
      difference,
    );
  }
}

function addTo(counts: Map<string, number>, key: string, difference: number): void {
  const count = (counts.get(key) ?? 0) + difference;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const NOTHING: ReadonlyMap<string, number> = new Map();
