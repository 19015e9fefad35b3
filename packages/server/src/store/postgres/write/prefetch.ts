import type { Command } from '../../../core/command.ts';
import { isLicenseCommand, subjectOf } from '../../../core/decide.ts';
import { deniedPlace } from '../../../core/lending/deny.ts';
import { WHOLE_LICENSE, windowStart } from '../../../core/nouns/consumption.ts';
import { type Instant, plus, SECOND_MS } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { Person } from '../../../core/rules/groups.ts';
import { countAs } from '../../../core/rules/judge-slot.ts';
import { personOf, type Rules } from '../../../core/rules/rules.ts';
import { listCountedKinds } from '../../engine/counts/count-slots.ts';
import type { GroupOf } from '../../engine/tables.ts';
import { readGroups, readLicenses, readSoonest, type Sql } from './bulk-writes.ts';
import { type LicensePlace, readPlaces } from './place-rows.ts';
import type { HeldRow, HeldTable } from './row-table.ts';
import type { WorkingSet } from './working-set.ts';

/** A read ahead, and what its result tells. */
export interface Prefetched {
  readonly sql: Sql;
  learn(set: WorkingSet, rows: readonly HeldRow[]): void;
}

/** Commands of one lane, and the licenses that they may be about. */
export interface PartReads {
  readonly commands: readonly Command[];
  readonly ids: readonly LicenseId[];
  /** Removed ones, which may have answered the same request before. */
  readonly removed: readonly LicenseId[];
  /** As far as they are known. */
  readonly licenses: readonly License[];
  /** Those without a free slot. */
  readonly full: readonly LicenseId[];
}

/** `null`: none are likely to be asked for. */
type ListPlaces = ((parts: readonly PartReads[]) => readonly LicensePlace[]) | null;

/** Guesses what the commands of a batch need, to read it in one round trip. The rest is read when missed. */
export function planPrefetch(
  parts: readonly PartReads[],
  now: Instant,
  listCountedAt: ListPlaces,
): readonly Prefetched[] {
  if (parts.length === 0) return [];
  const ids = parts.flatMap((part) => part.ids);
  const full = parts.flatMap((part) => part.full);
  const others = ids.filter((id) => !full.includes(id));
  const windows = parts.flatMap(({ licenses }) => licenses.flatMap((license) => windowsOf(license, now)));
  return [
    ...soonest('registration', full),
    ...soonest('registration', others, plus(now, SOON_MS)),
    ...soonest('feature_slot', ids),
    meters(ids),
    ...groups('consumption_total', windows),
    ...planOwnReads(parts, listCountedAt),
  ];
}

/**
 * The same for commands that join a batch: without what those before them have read of the licenses.
 * `listCountedAt`: where the rules are likely to ask how many slots are held.
 */
export function planOwnReads(parts: readonly PartReads[], listCountedAt: ListPlaces): readonly Prefetched[] {
  const owned = parts.map(({ ids, commands }) => ofUsers(ids, listUsers(commands)));
  const floating = owned.filter((_, index) => parts[index]?.licenses.some(hasFloatingFeature));
  const answers = parts.flatMap(({ commands, ids, removed }) =>
    commands.flatMap((command) => scopesOf(command, [...ids, ...removed])),
  );
  return [
    ...groups('registration', owned.flat()),
    ...groups('denial', owned.flat()),
    ...groups('feature_slot', floating.flat()),
    ...groups('remembered_answer', answers),
    ...(listCountedAt === null ? [] : places(listCountedAt(parts))),
  ];
}

function places(wanted: readonly LicensePlace[]): readonly Prefetched[] {
  if (wanted.length === 0) return [];
  return [{ sql: readPlaces(wanted), learn: (set, rows) => set.places.learn(wanted, rows) }];
}

function listUsers(commands: readonly Command[]): readonly string[] {
  return [...new Set(commands.flatMap(usersOf))];
}

/**
 * Commands without reads ahead may still need the meters of all features of a license, one by one. All are
 * read with the first that is missed; otherwise each would cost a round trip and another run of the command.
 */
export function expectMeters(set: WorkingSet, licenses: () => readonly TimedLicense[]): void {
  set.expect('consumption_total', () => licenses().flatMap(({ license, now }) => windowsOf(license, now)));
  set.expect('meter', () => licenses().flatMap(({ license }) => meterGroupsOf(license)));
}

/** A license, and the time of its decisions. */
export interface TimedLicense {
  readonly license: License;
  readonly now: Instant;
}

/** Where those who ask for a slot are counted. */
export function listCounted({ set }: Rules, parts: readonly PartReads[]): readonly LicensePlace[] {
  return parts.flatMap(({ commands, ids, licenses }) => {
    const product = licenses[0]?.product;
    if (product === undefined) return [];
    const people = commands.flatMap(listAskers);
    return listCountedKinds(set, product).flatMap(({ feature, kind, rules }) => {
      const places = new Set(people.flatMap((person) => countAs(set, rules, person)[kind] ?? []));
      return ids.flatMap((licenseId) => Array.from(places, (place) => ({ licenseId, feature, kind, place })));
    });
  });
}

function listAskers(command: Command): readonly Person[] {
  return command.kind === 'register' || command.kind === 'borrow' ? [personOf(command)] : [];
}

function meterGroupsOf({ id, features }: License): readonly GroupOf<'meter'>[] {
  return [WHOLE_LICENSE, ...features.map(({ code }) => code)].map((feature) => ({ license_id: id, feature }));
}

function usersOf(command: Command): readonly string[] {
  if (!isLicenseCommand(command)) return [];
  const { user, users } = subjectOf(command);
  return typeof user === 'string' ? [user] : users;
}

/** Where the commands come from, on each of their licenses. */
export function listDeniedPlaces(
  parts: readonly Pick<PartReads, 'commands' | 'ids'>[],
): readonly GroupOf<'place_denial'>[] {
  return parts.flatMap(({ commands, ids }) => {
    const found = commands.map((command) => deniedPlace('by' in command ? command.by : undefined));
    const places = [...new Set(found.filter((place) => place !== null))];
    return ids.flatMap((id) => places.map((place) => ({ license_id: id, place })));
  });
}

function hasFloatingFeature({ features }: License): boolean {
  return features.some(({ floating }) => floating !== null);
}

function windowsOf(license: License, now: Instant): readonly GroupOf<'consumption_total'>[] {
  const { id, consumption, features } = license;
  return [{ code: WHOLE_LICENSE, consumption }, ...features].map((part) => ({
    license_id: id,
    feature: part.code,
    window_start: windowStart(part.consumption.period, now),
  }));
}

function scopesOf(command: Command, ids: readonly LicenseId[]): readonly GroupOf<'remembered_answer'>[] {
  const scope = isLicenseCommand(command) ? subjectOf(command).answer : null;
  if (scope === null || ![scope.user, scope.key].every((text) => typeof text === 'string')) return [];
  return ids.map((id) => ({ license_id: id, ...scope }));
}

/** Mostly this shows that nothing has ended. A few that have are collected without another read. */
const SOONEST_ROWS = 4;

/**
 * What may end before the transaction has its locks. Later ends matter only to those who are refused a slot.
 * To read them is expensive: every renewal leaves a dead entry in the index by end, in front of all that are
 * alive, and until the next vacuum all of these are passed. Much less than the shortest timeout, so that few
 * of them are as early as this.
 */
const SOON_MS = 10 * SECOND_MS;

function soonest(
  table: 'registration' | 'feature_slot',
  ids: readonly LicenseId[],
  endsBy?: Instant,
): readonly Prefetched[] {
  if (ids.length === 0) return [];
  return [
    {
      sql: readSoonest(table, ids, SOONEST_ROWS, endsBy),
      learn(set, rows) {
        const own = Map.groupBy(rows, (row) => row.license_id);
        for (const id of ids) set.tables[table].learnSoonest(id, own.get(id) ?? [], SOONEST_ROWS, endsBy);
      },
    },
  ];
}

function meters(ids: readonly LicenseId[]): Prefetched {
  return {
    sql: readLicenses('meter', ids),
    learn(set, rows) {
      set.tables.meter.learn(rows);
      for (const id of ids) set.tables.meter.completeLicense(id);
    },
  };
}

function ofUsers(ids: readonly LicenseId[], users: readonly string[]): readonly GroupOf<'registration'>[] {
  return ids.flatMap((id) => users.map((user) => ({ license_id: id, user })));
}

/** Nothing is read if nothing is wanted. */
function groups(table: HeldTable, wanted: readonly HeldRow[]): readonly Prefetched[] {
  if (wanted.length === 0) return [];
  return [
    {
      sql: readGroups(table, wanted),
      learn(set, rows) {
        set.tables[table].learn(rows);
        for (const group of wanted) set.tables[table].complete(group);
      },
    },
  ];
}
