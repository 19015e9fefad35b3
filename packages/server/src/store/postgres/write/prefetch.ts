import type { Command, LicenseCommand } from '../../../core/command.ts';
import { targetOf } from '../../../core/decide.ts';
import { deniedPlace } from '../../../core/lending/deny.ts';
import { answerScope } from '../../../core/lending/repeat-answer.ts';
import { WHOLE_LICENSE, windowStart } from '../../../core/nouns/consumption.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { GroupOf } from '../../engine/tables.ts';
import { readGroups, readLicenses, readSoonest, type Sql } from './bulk-writes.ts';
import type { HeldRow, HeldTable } from './row-table.ts';
import type { WorkingSet } from './working-set.ts';

/** A read ahead, and what its result tells. */
export interface Prefetched {
  readonly sql: Sql;
  learn(set: WorkingSet, rows: readonly HeldRow[]): void;
}

/** The licenses of the product, and removed ones that may have answered the same request before. */
interface ScopedIds {
  readonly held: readonly LicenseId[];
  readonly removed: readonly LicenseId[];
}

/** Guesses what the commands of a batch need, to read it in one round trip. The rest is read when missed. */
export function planPrefetch(
  commands: readonly Command[],
  { held: ids, removed }: ScopedIds,
  licenses: readonly License[],
  now: Instant,
): readonly Prefetched[] {
  const users = [...new Set(commands.flatMap((command) => usersOf(command as LicenseCommand)))];
  const plan = [
    soonest('registration', ids, users.length),
    soonest('feature_slot', ids, users.length),
    meters(ids),
  ];
  if (users.length > 0) {
    plan.push(ofUsers('registration', ids, users), ofUsers('denial', ids, users));
    if (licenses.some(hasFloatingFeature)) plan.push(ofUsers('feature_slot', ids, users));
  }
  const deniable = commands.filter(({ kind }) => OFTEN_DENIED.has(kind));
  const places = listPlaces(deniable, ids);
  if (places.length > 0) plan.push(groups('place_denial', places));
  const windows = licenses.flatMap((license) => windowsOf(license, now));
  if (windows.length > 0) plan.push(groups('consumption_total', windows));
  const scopes = commands.flatMap((command) => scopesOf(command as LicenseCommand, [...ids, ...removed]));
  if (scopes.length > 0) plan.push(groups('remembered_answer', scopes));
  return plan;
}

/**
 * Commands without reads ahead may still need the meters of all features of a license, one by one. All are
 * read with the first that is missed; otherwise each would cost a round trip and another run of the command.
 */
export function expectMeters(set: WorkingSet, licenses: () => readonly License[], now: Instant): void {
  set.expect('consumption_total', () => licenses().flatMap((license) => windowsOf(license, now)));
  set.expect('meter', () => licenses().flatMap(meterGroupsOf));
}

function meterGroupsOf({ id, features }: License): readonly GroupOf<'meter'>[] {
  return [WHOLE_LICENSE, ...features.map(({ code }) => code)].map((feature) => ({ license_id: id, feature }));
}

function usersOf(command: LicenseCommand): readonly string[] {
  if (command.kind === 'release_from') return command.users;
  const { user } = targetOf(command);
  return typeof user === 'string' ? [user] : [];
}

/** Commands that look at earlier denials before they know whether they are denied. Heartbeats do not. */
const OFTEN_DENIED: ReadonlySet<Command['kind']> = new Set(['borrow', 'register_feature', 'add_consumption']);

/** Where the commands come from, on each license. */
export function listPlaces(
  commands: readonly Command[],
  ids: readonly LicenseId[],
): readonly GroupOf<'place_denial'>[] {
  const found = commands.map((command) => deniedPlace('by' in command ? command.by : undefined));
  const places = [...new Set(found.filter((place) => place !== null))];
  return ids.flatMap((id) => places.map((place) => ({ license_id: id, place })));
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

function scopesOf(
  command: LicenseCommand,
  ids: readonly LicenseId[],
): readonly GroupOf<'remembered_answer'>[] {
  const scope = command.kind === 'add_consumption' ? answerScope(command) : null;
  if (scope === null || ![scope.user, scope.key].every((text) => typeof text === 'string')) return [];
  return ids.map((id) => ({ license_id: id, ...scope }));
}

/** Users in the batch may be among those that end first; the spare rows show who comes after them. */
const SPARE_ROWS = 4;

function soonest(
  table: 'registration' | 'feature_slot',
  ids: readonly LicenseId[],
  users: number,
): Prefetched {
  // Only a few different numbers, because the database plans each of them once.
  const limit = 2 ** Math.ceil(Math.log2(Math.max(1, users))) + SPARE_ROWS;
  return {
    sql: readSoonest(table, ids, limit),
    learn(set, rows) {
      for (const id of ids) {
        const own = ids.length === 1 ? rows : rows.filter((row) => row.license_id === id);
        set.tables[table].learnSoonest(id, own, limit);
      }
    },
  };
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

function ofUsers(
  table: 'registration' | 'feature_slot' | 'denial',
  ids: readonly LicenseId[],
  users: readonly string[],
): Prefetched {
  return groups(
    table,
    ids.flatMap((id) => users.map((user) => ({ license_id: id, user }))),
  );
}

function groups(table: HeldTable, wanted: readonly HeldRow[]): Prefetched {
  return {
    sql: readGroups(table, wanted),
    learn(set, rows) {
      set.tables[table].learn(rows);
      for (const group of wanted) set.tables[table].complete(group);
    },
  };
}
