import assert from 'node:assert/strict';
import type { Facts } from '../support/berth-api.ts';

/** What a start changes, or time that passes. Whatever else a release said of its data is still true. */
const MAY_CHANGE = [
  // Slots that were live get a whole timeout; `borrowed_until` stays.
  /registrations\/\d+\/ends_at$/,
  // Reservations and limits that hold during office hours.
  /is_active$/,
  /tokens\/\d+\/used_at$/,
  /audit\/verify\/(?:links|events)$/,
  // Certificates end, refusals of the last days are forgotten, and nobody listens where channels send to.
  /identity\/licenses\/\d+\/certificate$/,
  /rules\/rules\/\d+\/refused$/,
  /channels\/\d+\/(?:state|delivered_at|failing_at|error)$/,
  // A day of the past may be kept as a whole.
  /history\/slots\/(?:grain|step_ms|until)$/,
  /history\/slots\/series\/\d+\/(?:points|totals\/average)/,
];

/** What this version seals, a release cannot read any more. */
const SEALED_SINCE = /^\/settings\/webhooks\.url: .* became undefined$/;

/** Fails if a fact is lost or different. Lists keep their order and their length; new fields may come. */
export function expectKept(before: Facts, now: Facts): void {
  assert.deepEqual(listChanged(before, now, ''), []);
}

/** The same for a release that serves data which this version has changed. */
export function expectKeptForRelease(before: Facts, now: Facts): void {
  assert.deepEqual(
    listChanged(before, now, '').filter((change) => !SEALED_SINCE.test(change)),
    [],
  );
}

function listChanged(before: unknown, now: unknown, path: string): readonly string[] {
  if (MAY_CHANGE.some((pattern) => pattern.test(path))) return [];
  const isSame = typeof before !== 'object' || before === null ? before === now : isLike(before, now);
  if (!isSame) return [`${path}: ${JSON.stringify(before)} became ${JSON.stringify(now)}`];
  if (typeof before !== 'object' || before === null) return [];
  return Object.entries(before).flatMap(([name, fact]) =>
    listChanged(fact, (now as Facts)[name], `${path}/${name}`),
  );
}

function isLike(before: object, now: unknown): boolean {
  if (Array.isArray(before)) return Array.isArray(now) && now.length === before.length;
  return typeof now === 'object' && now !== null && !Array.isArray(now);
}
