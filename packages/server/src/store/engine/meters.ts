import type { Meter } from '../../core/nouns/consumption.ts';
import { type Instant, instant } from '../../core/nouns/instant.ts';
import type { MeterNeed } from '../../core/view.ts';
import { instantOrNull } from './rows.ts';
import type { Statements } from './statements.ts';

/**
 * The meters of one license as the writer holds them in memory: a thousand counts in one batch are one row in
 * the database. Values are replaced, never changed, so that remembering the map is enough to undo a command.
 */
export class Meters {
  readonly #licenseId: number;
  #known = new Map<string, Meter>();
  #changed = new Set<string>();
  /** Grows with every change: tells whoever keeps something made from the meters that it is old. */
  version = 0;

  constructor(licenseId: number) {
    this.#licenseId = licenseId;
  }

  get isChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** The meter in the window that is asked for; one in another window is written first and loaded anew. */
  get(statements: Statements, { feature, windowStart }: MeterNeed): Meter {
    const known = this.#known.get(feature);
    if (known !== undefined && known.windowStart === windowStart) return known;
    if (known !== undefined && this.#changed.has(feature)) this.#write(statements, known);
    const meter = this.#load(statements, feature, windowStart);
    this.#known.set(feature, meter);
    return meter;
  }

  put(meter: Meter): void {
    this.#known.set(meter.feature, meter);
    this.#changed.add(meter.feature);
    this.version += 1;
  }

  /** One row more or less in a feature's slots; the window does not matter to them. */
  addInUse(statements: Statements, feature: string, difference: number): void {
    const meter = this.#known.get(feature) ?? this.#load(statements, feature, ANY_WINDOW);
    this.put({ ...meter, storedInUse: meter.storedInUse + difference });
  }

  /** Slots of a feature in use, as stored. */
  countInUse(statements: Statements, feature: string): number {
    return (this.#known.get(feature) ?? this.#load(statements, feature, ANY_WINDOW)).storedInUse;
  }

  /** All slots of all features are gone. */
  clearInUse(statements: Statements, features: readonly string[]): void {
    for (const feature of features) {
      const meter = this.#known.get(feature) ?? this.#load(statements, feature, ANY_WINDOW);
      if (meter.storedInUse !== 0) this.put({ ...meter, storedInUse: 0 });
    }
  }

  flush(statements: Statements): void {
    for (const feature of this.#changed) this.#write(statements, this.#known.get(feature) as Meter);
    this.#changed.clear();
  }

  remember(): () => void {
    const known = new Map(this.#known);
    const changed = new Set(this.#changed);
    return () => {
      this.#known = known;
      this.#changed = changed;
      this.version += 1;
    };
  }

  #load(statements: Statements, feature: string, windowStart: Instant): Meter {
    const row = statements.findMeter.get(this.#licenseId, feature);
    const total = statements.findTotal.get(this.#licenseId, feature, windowStart);
    return {
      feature,
      windowStart,
      total: (total?.total as number | undefined) ?? 0,
      pending: (row?.pending as number | undefined) ?? 0,
      reported: (row?.reported as number | undefined) ?? 0,
      cloudTotal: (row?.cloud_total as number | null | undefined) ?? null,
      cloudAt: instantOrNull(row?.cloud_at),
      storedInUse: (row?.in_use as number | undefined) ?? 0,
    };
  }

  #write(statements: Statements, meter: Meter): void {
    const { feature, windowStart, total, pending, reported, cloudTotal, cloudAt, storedInUse } = meter;
    const id = this.#licenseId;
    statements.putMeter.run(id, feature, pending, reported, cloudTotal, cloudAt, storedInUse);
    statements.putTotal.run(id, feature, windowStart, total);
  }
}

/** For what no window matters to. */
const ANY_WINDOW = instant(0);
