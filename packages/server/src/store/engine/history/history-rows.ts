import { GRAINS, heldMinutes, waitedSeconds } from '../../../core/history/grain.ts';
import type { Ended, Person, UsageEvent } from '../../../core/history/usage-event.ts';
import { bucketStart, DAY_MS, earlier, type Instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { LoadedLicense } from '../loaded-licenses.ts';
import type { RowValue } from '../rows.ts';
import { HISTORY_TABLES, type HistoryRow, type HistoryTable } from './history-sql.ts';
import { type NameAllowance, personKey } from './name-allowance.ts';

/** Rows to add to a table of the history, ordered by their keys: so no two commits wait for each other. */
export interface HistoryRows {
  readonly table: HistoryTable;
  readonly rows: readonly Row[];
}

type Row = Readonly<Record<string, RowValue>>;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What the decisions of a batch add to the history; rows of the same key are one. */
export function historyRows(
  entries: Iterable<LoadedLicense>,
  names: NameAllowance,
  now: Instant,
): readonly HistoryRows[] {
  const sheet = new Sheet(names, now);
  for (const { license, history } of entries) {
    for (const event of history) sheet.add(license.id, event);
  }
  return sheet.list();
}

type SlotRow = Writable<HistoryRow<'history_slot'>>;
type PersonRow = Writable<HistoryRow<'history_person'>>;
type DurationRow = Writable<HistoryRow<'history_duration'>>;

/** Every user who comes or goes passes here: rows are made only if they are new, and found by short keys. */
class Sheet {
  readonly #names: NameAllowance;
  readonly #now: Instant;
  readonly #rows = new Map<HistoryTable, Map<string, Row>>();
  /** The rows that were used last: the next event is usually in the same row. */
  #lastSlots: SlotRow | null = null;
  #lastDuration: DurationRow | null = null;

  constructor(names: NameAllowance, now: Instant) {
    this.#names = names;
    this.#now = now;
  }

  list(): readonly HistoryRows[] {
    const found: HistoryRows[] = [];
    for (const table of HISTORY_TABLES) {
      const rows = this.#rows.get(table);
      if (rows === undefined) continue;
      const keys = [...rows.keys()].sort();
      found.push({ table, rows: keys.map((key) => rows.get(key) as Row) });
    }
    return found;
  }

  add(id: LicenseId, event: UsageEvent): void {
    const { feature } = event;
    // The clock may have gone back since: nothing happens later than now.
    const at = earlier(event.at, this.#now);
    switch (event.kind) {
      case 'granted': {
        const slots = this.#slots(id, feature, at);
        slots.grants += 1;
        slots.peak = Math.max(slots.peak, event.inUse);
        change(slots, at, 1);
        this.#person(id, feature, at, event.person).grants += 1;
        return;
      }
      case 'borrowed':
        if (event.lastUntil !== null) this.#slots(id, feature, event.lastUntil).borrowed -= 1;
        this.#slots(id, feature, at).borrowed += 1;
        return;
      case 'ended':
        this.#addEnd(id, feature, at, event);
        return;
      case 'denied':
        this.#addDenial(id, at, event);
        return;
      case 'waited': {
        const seconds = waitedSeconds(event.waitedMs);
        const row = this.#wait(id, feature, bucketStart(at, DAY_MS), seconds);
        row[event.isServed ? 'served' : 'unserved'] += 1;
        return;
      }
      case 'consumed':
        this.#consumption(id, feature, bucketStart(at, DAY_MS)).amount += event.amount;
    }
  }

  #addEnd(id: LicenseId, feature: string, at: Instant, ended: Ended): void {
    const { heldSince, borrowedUntil } = ended;
    const slots = this.#slots(id, feature, at);
    slots.returns += 1;
    change(slots, at, -1);
    if (borrowedUntil !== null) this.#slots(id, feature, earlier(borrowedUntil, at)).borrowed -= 1;
    const heldMs = Math.max(0, at - heldSince);
    const person = this.#person(id, feature, at, ended.person);
    person.sessions += 1;
    person.held_ms += heldMs;
    this.#duration(id, feature, bucketStart(at, DAY_MS), heldMinutes(heldMs)).sessions += 1;
  }

  #addDenial(id: LicenseId, at: Instant, denied: Extract<UsageEvent, { kind: 'denied' }>): void {
    const { feature, reason, rule, person, slots, inUse, borrowed, nextFreeAt } = denied;
    this.#slots(id, feature, at).denials += 1;
    this.#person(id, feature, at, person).denials += 1;
    const start = bucketStart(at, MINUTE_MS);
    const named = this.#names.admitDenial(id, person, `${feature}/${reason}`, this.#now);
    const key = `${id}/${start}/${reason}/${rule}/${personKey(named)}${feature}`;
    const row = this.#row('history_denial', key, () => ({
      license_id: id,
      feature,
      grain: GRAINS.minute,
      at: start,
      ...named,
      reason,
      rule,
      denials: 0,
      first_at: at,
      last_at: at,
      slots,
      in_use: inUse,
      borrowed,
      next_free_at: nextFreeAt,
    }));
    row.denials += 1;
    row.last_at = at;
  }

  #slots(id: LicenseId, feature: string, at: Instant): SlotRow {
    const start = bucketStart(at, MINUTE_MS);
    const last = this.#lastSlots;
    if (last?.license_id === id && last.at === start && last.feature === feature) return last;
    const row = this.#row('history_slot', `${id}/${start}/${feature}`, () => ({
      license_id: id,
      feature,
      grain: GRAINS.minute,
      at: start,
      grants: 0,
      returns: 0,
      denials: 0,
      peak: 0,
      net: 0,
      late: 0,
      borrowed: 0,
    }));
    this.#lastSlots = row;
    return row;
  }

  #person(id: LicenseId, feature: string, at: Instant, person: Person): PersonRow {
    const { user, others } = this.#names.admit(id, person, this.#now);
    const day = bucketStart(at, DAY_MS);
    const row = this.#row(
      'history_person',
      `${id}/${day}/${others}/${feature.length}/${feature}${user}`,
      () => ({
        license_id: id,
        feature,
        grain: GRAINS.day,
        at: day,
        user,
        others,
        grants: 0,
        denials: 0,
        sessions: 0,
        held_ms: 0,
        last_at: at,
      }),
    );
    if (row.last_at < at) row.last_at = at;
    return row;
  }

  #duration(id: LicenseId, feature: string, day: Instant, minutes: number): DurationRow {
    const last = this.#lastDuration;
    const isSame = last?.license_id === id && last.at === day && last.minutes === minutes;
    if (isSame && last.feature === feature) return last;
    const row = this.#row('history_duration', `${id}/${day}/${minutes}/${feature}`, () => ({
      license_id: id,
      feature,
      at: day,
      minutes,
      sessions: 0,
    }));
    this.#lastDuration = row;
    return row;
  }

  #wait(id: LicenseId, feature: string, day: Instant, seconds: number): Writable<HistoryRow<'history_wait'>> {
    return this.#row('history_wait', `${id}/${day}/${seconds}/${feature}`, () => ({
      license_id: id,
      feature,
      at: day,
      seconds,
      served: 0,
      unserved: 0,
    }));
  }

  #consumption(id: LicenseId, feature: string, day: Instant): Writable<HistoryRow<'history_consumption'>> {
    return this.#row('history_consumption', `${id}/${day}/${feature}`, () => ({
      license_id: id,
      feature,
      at: day,
      amount: 0,
    }));
  }

  /** The row with this key, which is a new one unless something was added to it before. */
  #row<T extends HistoryTable>(table: T, key: string, make: () => HistoryRow<T>): Writable<HistoryRow<T>> {
    const rows = this.#rows.getOrInsertComputed(table, () => new Map());
    const found = rows.get(key);
    if (found !== undefined) return found as Writable<HistoryRow<T>>;
    const row = make();
    rows.set(key, row as Row);
    return row as Writable<HistoryRow<T>>;
  }
}

/** `late` says how much of the bucket was over. */
function change(slots: Writable<HistoryRow<'history_slot'>>, at: Instant, difference: number): void {
  slots.net += difference;
  slots.late += difference * (at - slots.at);
}
