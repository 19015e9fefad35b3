import type { LicenseId } from '../../../core/nouns/license.ts';
import type { CountedAs } from '../../../core/rules/judge-slot.ts';
import type { PlaceKind } from '../../../core/rules/rule-set.ts';
import type { Statements } from '../statements.ts';
import type { StoredCounts } from './stored-counts.ts';

/**
 * How many slots of a license, and of its features, are held by members of which groups and at which places,
 * as the rules of one revision count them. The groups are in the row of the license. Each place has a row of
 * its own, which is written when the batch is committed.
 */
export class SlotCounts {
  /** Of the rules. */
  readonly revision: number;
  readonly #licenseId: LicenseId;
  readonly #groups = new Map<string, Map<string, number>>();
  /** Those that were asked for or changed lately. */
  readonly #places = new Map<string, KnownPlace>();
  /** Places that the running batch has changed. */
  readonly #changed = new Set<string>();
  /** How to undo what the running batch has changed, step by step. */
  #journal: (() => void)[] = [];
  /** Until all slots are counted, which is undone as a whole. */
  #isUnfinished: boolean;
  /** What the row stores; `null`: not written yet, so no place has a row either. */
  #stored: string | null;
  /** Rows of older rules may be there. */
  #hasReplaced: boolean;
  #changes = 0;

  constructor(licenseId: LicenseId, revision: number, stored: string | null = null) {
    this.#licenseId = licenseId;
    this.revision = revision;
    this.#stored = stored;
    this.#hasReplaced = stored === null;
    this.#isUnfinished = stored === null;
  }

  /** All slots are counted. */
  finish(): void {
    this.#isUnfinished = false;
  }

  static read(licenseId: LicenseId, stored: string): SlotCounts {
    const { revision, groups } = JSON.parse(stored) as StoredCounts;
    const counts = new SlotCounts(licenseId, revision, stored);
    for (const [feature, slots] of groups) counts.#groups.set(feature, new Map(slots));
    return counts;
  }

  add(
    statements: Statements,
    feature: string,
    { groups, host, address }: CountedAs,
    difference: number,
  ): void {
    this.#changes += 1;
    const counts = this.#groups.getOrInsertComputed(feature, () => new Map());
    this.#set(counts, groups, (counts.get(groups) ?? 0) + difference);
    if (host !== null) this.#addPlace(statements, { feature, kind: 'host', place: host }, difference);
    if (address !== null)
      this.#addPlace(statements, { feature, kind: 'address', place: address }, difference);
  }

  #addPlace(statements: Statements, at: CountedPlace, difference: number): void {
    const key = keyOf(at);
    const known = this.#find(statements, key, at);
    this.#set(this.#places, key, { ...known, slots: known.slots + difference });
    this.#changed.add(key);
  }

  #set<V>(map: Map<string, V>, key: string, value: V): void {
    if (!this.#isUnfinished) {
      const before = map.get(key);
      this.#journal.push(() => {
        if (before === undefined) map.delete(key);
        else map.set(key, before);
      });
    }
    map.set(key, value);
  }

  listGroups(feature: string): ReadonlyMap<string, number> {
    return this.#groups.get(feature) ?? NOTHING;
  }

  countAt(statements: Statements, at: CountedPlace): number {
    return this.#find(statements, keyOf(at), at).slots;
  }

  #find(statements: Statements, key: string, at: CountedPlace): KnownPlace {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const stored = this.#stored === null ? 0 : (statements.place_count.find(this.#rowKey(at))?.slots ?? 0);
    const found = { at, stored, slots: stored };
    this.#places.set(key, found);
    return found;
  }

  #rowKey({ feature, kind, place }: CountedPlace) {
    return { license_id: this.#licenseId, rules: this.revision, feature, kind, place };
  }

  /** Another text after every change within a batch. */
  describe(feature: string): string {
    return JSON.stringify([...this.listGroups(feature), this.#changes]);
  }

  /** Returns how to undo whatever a command changes. */
  remember(): () => void {
    const { length } = this.#journal;
    return () => {
      for (const undo of this.#journal.splice(length).reverse()) undo();
    };
  }

  /** Writes the places, and returns what the row of the license is to store. */
  flush(statements: Statements): string {
    if (this.#stored !== null && this.#journal.length === 0) return this.#stored;
    for (const key of this.#changed) this.#write(statements, key);
    this.#changed.clear();
    if (this.#places.size > MAX_PLACES) this.#places.clear();
    this.#journal = [];
    const groups = Array.from(this.#groups, ([feature, slots]) => [feature, [...slots]] as const);
    this.#stored = JSON.stringify({ revision: this.revision, groups } satisfies StoredCounts);
    return this.#stored;
  }

  /** A change may have been undone. */
  #write(statements: Statements, key: string): void {
    const known = this.#places.get(key);
    if (known === undefined || known.slots === known.stored) return;
    const { at, slots } = known;
    if (slots === 0) statements.place_count.remove(this.#rowKey(at));
    else statements.place_count.put({ ...this.#rowKey(at), slots });
    this.#places.set(key, { at, slots, stored: slots });
  }

  /** Call when all are written: on PostgreSQL rows are put one by one after such a statement. */
  removeOlder(statements: Statements): void {
    if (this.#hasReplaced) statements.removeOlderPlaceCounts.run(this.#licenseId, this.revision);
    this.#hasReplaced = false;
  }
}

/** Where slots are counted. `feature` is empty for the license itself. */
export interface CountedPlace {
  readonly feature: string;
  readonly kind: PlaceKind;
  readonly place: string;
}

/** `stored`: what its row says; 0 if it has none. */
interface KnownPlace {
  readonly at: CountedPlace;
  readonly stored: number;
  readonly slots: number;
}

/** Those of 50,000 places take some 10 MB. */
const MAX_PLACES = 50_000;

const NOTHING: ReadonlyMap<string, number> = new Map();

function keyOf({ feature, kind, place }: CountedPlace): string {
  return `${feature}\n${kind}\n${place}`;
}
