import type { LicenseId } from '../../../core/nouns/license.ts';
import type { CountedKind, CountPlaces, PlaceCounts } from '../../engine/counts/place-counts.ts';
import type { SlotCounts } from '../../engine/counts/slot-counts.ts';
import { MissingRows } from '../../engine/execute.ts';
import type { Row } from '../../engine/rows.ts';
import type { Sender, Sql } from './bulk-writes.ts';

/** Where slots of a license are counted. */
export interface LicensePlace extends CountedKind {
  readonly licenseId: LicenseId;
  readonly place: string;
}

interface PlaceRow {
  readonly license_id: LicenseId;
  readonly feature: string;
  readonly kind: CountedKind['kind'];
  readonly place: string;
  readonly slots: number;
}

const READ = `SELECT place_count.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[])
    AS given(license_id, feature, kind, place)
  JOIN place_count ON place_count.license_id = given.license_id AND place_count.feature = given.feature
    AND place_count.kind = given.kind AND place_count.place = given.place`;

const ADD = `INSERT INTO place_count (license_id, feature, kind, place, slots)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
  ON CONFLICT (license_id, feature, kind, place) DO UPDATE SET slots = place_count.slots + excluded.slots`;

const REMOVE = 'DELETE FROM place_count WHERE license_id = $1 AND feature = $2 AND kind = $3';

/** Rows that a transaction is about to change are left for the next time. */
export const REMOVE_EMPTY_PLACES = `DELETE FROM place_count WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM place_count WHERE slots = 0 LIMIT 10000 FOR UPDATE SKIP LOCKED))`;

export class MissingPlace extends MissingRows {
  readonly at: LicensePlace;

  constructor(at: LicensePlace) {
    super('A place that was not read yet.');
    this.at = at;
  }
}

/** Slots by place, of a license whose row has these receipts. */
interface Remembered {
  readonly receipts: string;
  readonly slots: Map<string, number>;
  /** How many places there were when they were last counted. */
  readonly size: number;
}

/** Of all licenses: 50,000 places take some 10 MB. */
const MAX_REMEMBERED = 50_000;

/**
 * What a server knows of places from one transaction to the next. Every change of slots leaves a receipt on
 * the license: if the row has other receipts, another server has changed it, and nothing is known.
 */
export class RememberedPlaces {
  readonly #licenses = new Map<LicenseId, Remembered>();
  #size = 0;

  has(at: LicensePlace): boolean {
    return this.#licenses.get(at.licenseId)?.slots.has(nameOf(at)) === true;
  }

  find(licenseId: LicenseId, receipts: string): Remembered['slots'] | undefined {
    const known = this.#licenses.get(licenseId);
    return known?.receipts === receipts ? known.slots : undefined;
  }

  keep(licenseId: LicenseId, receipts: string, slots: Remembered['slots']): void {
    const { size } = slots;
    this.#size += size - (this.#licenses.get(licenseId)?.size ?? 0);
    this.#licenses.set(licenseId, { receipts, slots, size });
    if (this.#size <= MAX_REMEMBERED) return;
    this.#licenses.clear();
    this.#size = 0;
  }
}

/**
 * How many slots are held at places, as far as a transaction knows. It writes differences: to return a slot,
 * nothing has to be read.
 */
export class PlaceRows {
  readonly #known = new Map<LicenseId, Map<string, number>>();
  /** What had rows when the transaction began. */
  readonly #stored: PlacesInRows[] = [];
  #listExpected: () => readonly LicensePlace[] = () => [];
  /** A decision has asked for one. */
  isAsked = false;
  /** What the transaction leaves on the rows of licenses. */
  readonly receipts = new Map<LicenseId, string>();

  /** Places to read together as soon as one is missed. */
  expect(listExpected: () => readonly LicensePlace[]): void {
    this.#listExpected = listExpected;
  }

  /** `isNew`: nothing is counted there yet. */
  open(licenseId: LicenseId, isNew: boolean): CountPlaces {
    return (counted) => {
      const places = new PlacesInRows(this, { licenseId, ...counted }, isNew);
      if (!isNew) this.#stored.push(places);
      return places;
    };
  }

  /** What a transaction writes of the counts of its licenses. */
  plan(counts: readonly SlotCounts[]): readonly Sql[] {
    if (counts.length + this.#stored.length === 0) return [];
    const all = new Set(counts.flatMap((one) => one.listPlaces() as readonly PlacesInRows[]));
    const gone = this.#stored
      .filter((places) => !all.has(places))
      .map(({ at: { licenseId, feature, kind } }) => ({ text: REMOVE, values: [licenseId, feature, kind] }));
    const added = [...all].flatMap((places) => places.listAdded());
    const slots = added.map(({ difference }) => difference);
    return added.length === 0 ? gone : [...gone, { text: ADD, values: [...toColumns(added), slots] }];
  }

  find(at: LicensePlace): number {
    this.isAsked = true;
    const known = this.#known.get(at.licenseId)?.get(nameOf(at));
    if (known === undefined) throw new MissingPlace(at);
    return known;
  }

  /** Takes over what was known of a license before. What is read is added: it is true until that changes. */
  recall(licenseId: LicenseId, slots: Map<string, number>): void {
    this.#known.set(licenseId, slots);
  }

  /** What is known of a license once all is written. */
  settle(licenseId: LicenseId, counts: SlotCounts): Map<string, number> {
    const all = counts.listPlaces() as readonly PlacesInRows[];
    const before = this.#stored.filter(({ at }) => at.licenseId === licenseId);
    // Other rules count other places, and nobody has corrected what is known of those.
    if (before.length !== all.length || before.some((places) => !all.includes(places))) return new Map();
    const known = this.#slotsOf(licenseId);
    for (const places of all) {
      for (const { difference, ...at } of places.listAdded()) {
        const slots = known.get(nameOf(at));
        if (slots !== undefined) known.set(nameOf(at), slots + difference);
      }
    }
    return known;
  }

  #slotsOf(licenseId: LicenseId): Map<string, number> {
    return this.#known.getOrInsertComputed(licenseId, () => new Map());
  }

  async read(sender: Sender, { at }: MissingPlace): Promise<void> {
    const places = [at, ...this.#listExpected()];
    const { text, values } = readPlaces(places);
    this.learn(places, await sender.query(text, values));
  }

  /** `rows`: what was read for the places. */
  learn(places: readonly LicensePlace[], rows: readonly Row[]): void {
    for (const at of places) this.#slotsOf(at.licenseId).set(nameOf(at), 0);
    for (const { license_id: licenseId, slots, ...at } of rows as unknown as readonly PlaceRow[]) {
      this.#slotsOf(licenseId).set(nameOf(at), slots);
    }
  }
}

export function readPlaces(places: readonly LicensePlace[]): Sql {
  return { text: READ, values: toColumns(places) };
}

interface Added extends LicensePlace {
  readonly difference: number;
}

class PlacesInRows implements PlaceCounts {
  readonly at: Omit<LicensePlace, 'place'>;
  readonly isNew: boolean;
  readonly #rows: PlaceRows;
  readonly #differences = new Map<string, number>();

  constructor(rows: PlaceRows, at: Omit<LicensePlace, 'place'>, isNew: boolean) {
    this.#rows = rows;
    this.at = at;
    this.isNew = isNew;
  }

  countAt(place: string): number {
    const stored = this.isNew ? 0 : this.#rows.find({ ...this.at, place });
    return stored + (this.#differences.get(place) ?? 0);
  }

  add(place: string, difference: number): void {
    this.#differences.set(place, (this.#differences.get(place) ?? 0) + difference);
  }

  listAdded(): readonly Added[] {
    const added = Array.from(this.#differences, ([place, difference]) => ({ ...this.at, place, difference }));
    return added.filter(({ difference }) => difference !== 0);
  }
}

function nameOf({ feature, kind, place }: Omit<LicensePlace, 'licenseId'>): string {
  return `${feature}\n${kind}\n${place}`;
}

function toColumns(places: readonly LicensePlace[]): (string | number)[][] {
  return [
    places.map(({ licenseId }) => licenseId),
    places.map(({ feature }) => feature),
    places.map(({ kind }) => kind),
    places.map(({ place }) => place),
  ];
}
