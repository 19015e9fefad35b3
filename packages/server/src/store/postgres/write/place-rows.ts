import type { LicenseId } from '../../../core/nouns/license.ts';
import type { CountedPlace, PlaceCounts } from '../../engine/counts/slot-counts.ts';
import { MissingRows } from '../../engine/execute.ts';
import type { LoadedLicense } from '../../engine/loaded-licenses.ts';
import type { Row } from '../../engine/rows.ts';
import type { Sql } from './bulk-writes.ts';
import type { Sender } from './working-set.ts';

export interface LicensePlace extends CountedPlace {
  readonly licenseId: LicenseId;
}

interface PlaceRow {
  readonly license_id: LicenseId;
  readonly feature: string;
  readonly kind: CountedPlace['kind'];
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

const REMOVE = 'DELETE FROM place_count WHERE license_id = ANY($1::bigint[])';

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

/**
 * How many slots are held at places, as far as a transaction knows. It writes differences: to return a slot,
 * nothing has to be read.
 */
export class PlaceRows {
  readonly #known = new Map<string, number>();
  #listExpected: () => readonly LicensePlace[] = () => [];
  /** A decision has asked for one. */
  isAsked = false;

  /** Places to read together as soon as one is missed. */
  expect(listExpected: () => readonly LicensePlace[]): void {
    this.#listExpected = listExpected;
  }

  /** `isNew`: nothing is counted there yet. */
  open(licenseId: LicenseId, isNew: boolean): PlaceCounts {
    return new PlacesInRows(this, licenseId, isNew);
  }

  find(at: LicensePlace): number {
    this.isAsked = true;
    const known = this.#known.get(nameOf(at));
    if (known === undefined) throw new MissingPlace(at);
    return known;
  }

  async read(sender: Sender, { at }: MissingPlace): Promise<void> {
    const places = [at, ...this.#listExpected()];
    const { text, values } = readPlaces(places);
    this.learn(places, await sender.query(text, values));
  }

  /** `rows`: what was read for the places. */
  learn(places: readonly LicensePlace[], rows: readonly Row[]): void {
    for (const at of places) this.#known.set(nameOf(at), 0);
    for (const { license_id: licenseId, slots, ...at } of rows as unknown as readonly PlaceRow[]) {
      this.#known.set(nameOf({ ...at, licenseId }), slots);
    }
  }
}

export function readPlaces(places: readonly LicensePlace[]): Sql {
  return { text: READ, values: toColumns(places) };
}

/** A license as it was counted before, and as it is to be written. */
interface Written {
  readonly entry: LoadedLicense;
  readonly hadCounts: boolean;
}

/** What a transaction writes of all its licenses. */
export function writePlaces(written: readonly Written[]): readonly Sql[] {
  const gone: LicenseId[] = [];
  const added: Added[] = [];
  for (const { entry, hadCounts } of written) {
    const places = entry.counts?.places as PlacesInRows | undefined;
    if (hadCounts && (places === undefined || places.isNew)) gone.push(entry.license.id);
    if (places !== undefined) added.push(...places.listAdded());
  }
  const slots = added.map(({ difference }) => difference);
  return [
    ...(gone.length === 0 ? [] : [{ text: REMOVE, values: [gone] }]),
    ...(added.length === 0 ? [] : [{ text: ADD, values: [...toColumns(added), slots] }]),
  ];
}

interface Added extends LicensePlace {
  difference: number;
}

class PlacesInRows implements PlaceCounts {
  readonly isNew: boolean;
  readonly #rows: PlaceRows;
  readonly #licenseId: LicenseId;
  readonly #added = new Map<string, Added>();

  constructor(rows: PlaceRows, licenseId: LicenseId, isNew: boolean) {
    this.#rows = rows;
    this.#licenseId = licenseId;
    this.isNew = isNew;
  }

  countAt(at: CountedPlace): number {
    const place = this.#placeOf(at);
    const difference = this.#added.get(nameOf(place))?.difference ?? 0;
    return difference + (this.isNew ? 0 : this.#rows.find(place));
  }

  add(at: CountedPlace, difference: number): void {
    const place = this.#placeOf(at);
    const name = nameOf(place);
    const added = this.#added.get(name);
    if (added === undefined) this.#added.set(name, { ...place, difference });
    else added.difference += difference;
  }

  listAdded(): readonly Added[] {
    return [...this.#added.values()].filter(({ difference }) => difference !== 0);
  }

  #placeOf({ feature, kind, place }: CountedPlace): LicensePlace {
    return { licenseId: this.#licenseId, feature, kind, place };
  }
}

function nameOf({ licenseId, feature, kind, place }: LicensePlace): string {
  return `${licenseId}\n${feature}\n${kind}\n${place}`;
}

function toColumns(places: readonly LicensePlace[]): (string | number)[][] {
  return [
    places.map(({ licenseId }) => licenseId),
    places.map(({ feature }) => feature),
    places.map(({ kind }) => kind),
    places.map(({ place }) => place),
  ];
}
