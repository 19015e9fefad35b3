import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEvent } from '../../core/audit-event.ts';

/** What must hold of the rows in the file, and what no question to the store shows. For tests. */
export function expectSoundRows(folder: string): void {
  const db = new DatabaseSync(join(folder, 'berth.db'), { readOnly: true });
  try {
    expectSlotsCounted(db);
    expectNothingUntold(db);
    expectNoOrphans(db);
  } finally {
    db.close();
  }
}

/** A meter's number is the number of rows. */
function expectSlotsCounted(db: DatabaseSync): void {
  const wrong = db
    .prepare(
      `SELECT license_id, feature, in_use,
         (SELECT count(*) FROM feature_slot AS slot
          WHERE slot.license_id = meter.license_id AND slot.feature = meter.feature) AS stored
       FROM meter WHERE in_use <> stored`,
    )
    .all();
  assert.deepEqual(wrong, [], 'the number of feature slots is the number of rows');
  const unknown = db
    .prepare(
      `SELECT license_id, feature FROM feature_slot
       WHERE (license_id, feature) NOT IN (SELECT license_id, feature FROM meter)`,
    )
    .all();
  assert.deepEqual(unknown, [], 'every feature slot has a meter that counts it');
}

/** Everything that was ever counted is pending, on its way, or reported. */
function expectNothingUntold(db: DatabaseSync): void {
  const known = db
    .prepare(
      `SELECT license_id, feature, pending + reported + coalesce((SELECT sum(amount) FROM report
         WHERE report.license_id = meter.license_id AND report.feature = meter.feature), 0) AS amount
       FROM meter`,
    )
    .all();
  const counted = sumCounts(db);
  for (const { license_id, feature, amount } of known) {
    const expected = counted.get(`${license_id}/${feature}`) ?? 0;
    assert.equal(amount, expected, `pending + on its way + reported of ${license_id}/${feature}`);
  }
  const metered = new Set(known.map(({ license_id, feature }) => `${license_id}/${feature}`));
  for (const meter of counted.keys()) assert.ok(metered.has(meter), `${meter} was counted and has no meter`);
}

function sumCounts(db: DatabaseSync): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { chain, events } of db.prepare('SELECT chain, events FROM audit_link').all()) {
    for (const event of JSON.parse(events as string) as AuditEvent[]) {
      if (event.kind !== 'consumption_added') continue;
      const meter = `${chain}/${event.feature ?? ''}`;
      sums.set(meter, (sums.get(meter) ?? 0) + event.count);
    }
  }
  return sums;
}

/** After everything was collected: no feature slot without the license's slot of its user. */
function expectNoOrphans(db: DatabaseSync): void {
  const orphans = db
    .prepare(
      `SELECT license_id, user, feature FROM feature_slot
       WHERE (license_id, user) NOT IN (SELECT license_id, user FROM registration)`,
    )
    .all();
  assert.deepEqual(orphans, [], 'no feature slot without a slot of the license');
}
