import type { Meter } from '../../core/nouns/consumption.ts';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { MeterNeed } from '../../core/view.ts';
import type { Statements } from './statements.ts';

const NONE: ReadonlySet<string> = new Set();

/**
 * The meters of one license in the writer's memory: a thousand counts in one batch are one row in the
 * database. Meters and the collections of them are replaced, never changed, so that a command is undone by
 * putting the old ones back, and one that counts nothing pays nothing for it.
 */
export class Meters {
  readonly #licenseId: LicenseId;
  /** Another map after every change, so that anything made from the meters can be recognized as outdated. */
  known = new Map<string, Meter>();
  changed = NONE;

  constructor(licenseId: LicenseId) {
    this.#licenseId = licenseId;
  }

  /** The meter in this window. One in another window is written first, then loaded again. */
  get(statements: Statements, { feature, windowStart }: MeterNeed): Meter {
    const known = this.known.get(feature);
    if (known !== undefined && known.windowStart === windowStart) return known;
    if (known !== undefined && this.changed.has(feature)) this.#write(statements, known);
    const meter = this.#load(statements, feature, windowStart);
    // What was read is true whether or not the command is undone, so it may join what is remembered.
    if (known === undefined) this.known.set(feature, meter);
    else this.#replace(meter);
    return meter;
  }

  put(meter: Meter): void {
    this.#replace(meter);
    if (!this.changed.has(meter.feature)) this.changed = new Set(this.changed).add(meter.feature);
  }

  #replace(meter: Meter): void {
    this.known = new Map(this.known).set(meter.feature, meter);
  }

  /** Counts one feature slot more or less, in whatever window. */
  addInUse(statements: Statements, feature: string, difference: number): void {
    const meter = this.known.get(feature) ?? this.#load(statements, feature, ANY_WINDOW);
    this.put({ ...meter, storedInUse: meter.storedInUse + difference });
  }

  /** Slots of a feature in use, as stored. */
  countInUse(statements: Statements, feature: string): number {
    return (this.known.get(feature) ?? this.#load(statements, feature, ANY_WINDOW)).storedInUse;
  }

  /** All slots of all features are gone. */
  clearInUse(statements: Statements, features: readonly string[]): void {
    for (const feature of features) {
      const meter = this.known.get(feature) ?? this.#load(statements, feature, ANY_WINDOW);
      if (meter.storedInUse !== 0) this.put({ ...meter, storedInUse: 0 });
    }
  }

  flush(statements: Statements): void {
    for (const feature of this.changed) this.#write(statements, this.known.get(feature) as Meter);
    this.changed = NONE;
  }

  #load(statements: Statements, feature: string, windowStart: Instant): Meter {
    const key = { license_id: this.#licenseId, feature };
    const row = statements.meter.find(key);
    const total = statements.consumption_total.find({ ...key, window_start: windowStart });
    return {
      feature,
      windowStart,
      total: total?.total ?? 0,
      pending: row?.pending ?? 0,
      reported: row?.reported ?? 0,
      cloudTotal: row?.cloud_total ?? null,
      cloudAt: row?.cloud_at ?? null,
      storedInUse: row?.in_use ?? 0,
    };
  }

  #write(statements: Statements, meter: Meter): void {
    const { feature, windowStart, total, pending, reported, cloudTotal, cloudAt, storedInUse } = meter;
    const key = { license_id: this.#licenseId, feature };
    const cloud = { cloud_total: cloudTotal, cloud_at: cloudAt };
    statements.meter.put({ ...key, ...cloud, pending, reported, in_use: storedInUse });
    statements.consumption_total.put({ ...key, window_start: windowStart, total });
  }
}

/** For feature slots, which have no window. */
const ANY_WINDOW = instant(0);
