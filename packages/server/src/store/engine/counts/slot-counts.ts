import type { CountedAs } from '../../../core/rules/judge-slot.ts';
import { addTo } from '../../../core/rules/reservations.ts';
import type { PlaceKind } from '../../../core/rules/rule-set.ts';
import type { CountedKind, CountPlaces, PlaceCounts } from './place-counts.ts';
import { readCounts, readRevision, writeCounts } from './stored-counts.ts';

interface OpenPlaces extends CountedKind {
  readonly counts: PlaceCounts;
}

interface Counted {
  readonly groups: Map<string, Map<string, number>>;
  readonly places: ReadonlyMap<string, OpenPlaces>;
}

/** A slot that was added or taken away. `groups`: `null` if it counts for its place only. */
interface Step extends Omit<CountedAs, 'groups'> {
  readonly feature: string;
  readonly groups: string | null;
  readonly difference: number;
}

/**
 * How many slots of a license, and of its features, are held by members of which groups, as the rules of one
 * revision count them, and at which places. Where somebody is, no rules can change: what is counted by place
 * is corrected whatever the rules say, and stays for later ones that count the same.
 */
export class SlotCounts {
  /** Of the rules. */
  readonly revision: number;
  readonly #read: () => Counted;
  #counted: Counted | null = null;
  /** While all slots are counted: the names of those places that were not counted before. */
  #uncounted: ReadonlySet<string> | null = null;
  /** What the running batch has changed, to undo it. */
  #steps: Step[] = [];
  /** What the row stores; `null`: not written yet. */
  #stored: string | null = null;
  #changes = 0;

  private constructor(revision: number, read: () => Counted) {
    this.revision = revision;
    this.#read = read;
  }

  static read(stored: string, openPlaces: CountPlaces): SlotCounts {
    const counts = new SlotCounts(readRevision(stored), () => {
      const { groups, places } = readCounts(stored);
      return {
        groups: new Map(groups.map(([feature, slots]) => [feature, new Map(slots)])),
        places: makePlaces(places, openPlaces),
      };
    });
    counts.#stored = stored;
    return counts;
  }

  /** A heartbeat asks for the revision only. */
  open(): Counted {
    this.#counted ??= this.#read();
    return this.#counted;
  }

  get #groups(): Counted['groups'] {
    return this.open().groups;
  }

  get #places(): Counted['places'] {
    return this.open().places;
  }

  /** Begins to count anew, for other rules. All slots are added then, and `finish` called. */
  static begin(
    revision: number,
    before: SlotCounts | null,
    wanted: readonly CountedKind[],
    countPlaces: CountPlaces,
  ): SlotCounts {
    const kept: Counted['places'] = before === null ? new Map() : before.#places;
    const places = makePlaces(wanted, (one) => kept.get(nameOf(one))?.counts ?? countPlaces(one));
    const counts = new SlotCounts(revision, () => ({ groups: new Map(), places }));
    counts.#uncounted = new Set(places.keys()).difference(kept);
    return counts;
  }

  /** All slots are counted. To undo that, the counts of before are put back. */
  finish(): void {
    this.#uncounted = null;
    this.#steps = [];
  }

  add(feature: string, { groups, host, address }: Omit<Step, 'feature' | 'difference'>, difference: number) {
    this.#steps.push({ feature, groups, host, address, difference });
    this.#add(feature, groups, host, address, difference);
  }

  #add(
    feature: string,
    groups: string | null,
    host: string | null,
    address: string | null,
    difference: number,
  ): void {
    this.#changes += 1;
    if (groups !== null) {
      const counts = this.#groups.getOrInsertComputed(feature, () => new Map());
      addTo(counts, groups, difference);
    }
    if (host !== null) this.#addAt(feature, 'host', host, difference);
    if (address !== null) this.#addAt(feature, 'address', address, difference);
  }

  #addAt(feature: string, kind: PlaceKind, place: string, difference: number): void {
    const name = nameOf({ feature, kind });
    if (this.#uncounted?.has(name) === false) return;
    this.#places.get(name)?.counts.add(place, difference);
  }

  listGroups(feature: string): ReadonlyMap<string, number> {
    return this.#groups.get(feature) ?? NOTHING;
  }

  countAt(feature: string, kind: PlaceKind, place: string): number {
    return this.#places.get(nameOf({ feature, kind }))?.counts.countAt(place) ?? 0;
  }

  /** None as long as nothing was asked for or changed. */
  listPlaces(): readonly PlaceCounts[] {
    return Array.from(this.#counted?.places.values() ?? [], ({ counts }) => counts);
  }

  /** Another text after every change within a batch. */
  describe(feature: string): string {
    return JSON.stringify([...this.listGroups(feature), this.#changes]);
  }

  /** Returns how to undo whatever a command changes. */
  remember(): () => void {
    const { length } = this.#steps;
    return () => {
      for (const { feature, groups, host, address, difference } of this.#steps.splice(length)) {
        this.#add(feature, groups, host, address, -difference);
      }
    };
  }

  /** What the row of the license is to store. Call when the batch is decided: nothing is undone after it. */
  flush(): string {
    if (this.#stored !== null && this.#steps.length === 0) return this.#stored;
    this.#steps = [];
    const groups = Array.from(this.#groups, ([feature, slots]) => [feature, [...slots]] as const);
    const places = Array.from(this.#places.values(), ({ feature, kind }) => ({ feature, kind }));
    this.#stored = writeCounts(this.revision, { groups, places });
    return this.#stored;
  }
}

function makePlaces(kinds: readonly CountedKind[], open: CountPlaces): ReadonlyMap<string, OpenPlaces> {
  return new Map(
    kinds.map(({ feature, kind }) => {
      const one = { feature, kind };
      return [nameOf(one), { ...one, counts: open(one) }];
    }),
  );
}

function nameOf({ feature, kind }: CountedKind): string {
  return kind + feature;
}

const NOTHING: ReadonlyMap<string, number> = new Map();
