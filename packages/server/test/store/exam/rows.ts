import assert from 'node:assert/strict';
import type { AuditEvent } from '../../../src/core/nouns/audit-event.ts';
import { expectSlotsCountedAnew } from './recount.ts';

/** Queries the database below a store, in SQL that all of them support. */
export type AskRows = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** Checks the rows below a store for what no query to the store shows. For tests. */
export async function expectSoundRows(ask: AskRows): Promise<void> {
  await expectSlotsCounted(ask);
  await expectSlotsCountedAnew(ask);
  await expectNothingUntold(ask);
  await expectNoOrphans(ask);
  await expectHistorySquare(ask);
}

/** Stored counts match the number of rows. */
async function expectSlotsCounted(ask: AskRows): Promise<void> {
  const wrong = await ask(
    `SELECT * FROM (SELECT id, in_use,
       (SELECT count(*) FROM registration AS slot WHERE slot.license_id = license.id) AS stored
     FROM license) AS counted WHERE in_use <> stored`,
  );
  assert.deepEqual(wrong, [], 'the number of slots is the number of rows');
  const wrongOfFeatures = await ask(
    `SELECT * FROM (SELECT license_id, feature, in_use,
       (SELECT count(*) FROM feature_slot AS slot
        WHERE slot.license_id = meter.license_id AND slot.feature = meter.feature) AS stored
     FROM meter) AS counted WHERE in_use <> stored`,
  );
  assert.deepEqual(wrongOfFeatures, [], 'the number of feature slots is the number of rows');
  const unknown = await ask(
    `SELECT license_id, feature FROM feature_slot
     WHERE (license_id, feature) NOT IN (SELECT license_id, feature FROM meter)`,
  );
  assert.deepEqual(unknown, [], 'every feature slot has a meter that counts it');
}

/** Everything that was ever counted is pending, on its way, or reported. */
async function expectNothingUntold(ask: AskRows): Promise<void> {
  const known = await ask(
    `SELECT license_id, feature, pending + reported + CAST(coalesce((SELECT sum(amount) FROM report
       WHERE report.license_id = meter.license_id AND report.feature = meter.feature), 0) AS BIGINT) AS amount
     FROM meter`,
  );
  const counted = await sumCounts(ask);
  for (const { license_id, feature, amount } of known) {
    const expected = counted.get(`${license_id}/${feature}`) ?? 0;
    assert.equal(amount, expected, `pending + on its way + reported of ${license_id}/${feature}`);
  }
  const metered = new Set(known.map(({ license_id, feature }) => `${license_id}/${feature}`));
  for (const meter of counted.keys()) assert.ok(metered.has(meter), `${meter} was counted and has no meter`);
}

async function sumCounts(ask: AskRows): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const { chain, events } of await ask('SELECT chain, events FROM audit_link')) {
    for (const event of JSON.parse(events as string) as AuditEvent[]) {
      if (event.kind !== 'consumption_added') continue;
      const meter = `${chain}/${event.feature ?? ''}`;
      sums.set(meter, (sums.get(meter) ?? 0) + event.count);
    }
  }
  return sums;
}

/** After everything was collected: no feature slot without the license's slot of its user. */
async function expectNoOrphans(ask: AskRows): Promise<void> {
  const orphans = await ask(
    `SELECT license_id, "user", feature FROM feature_slot
     WHERE (license_id, "user") NOT IN (SELECT license_id, "user" FROM registration)`,
  );
  assert.deepEqual(orphans, [], 'no feature slot without a slot of the license');
}

/** The recorded changes add up to what is held, and nothing is recorded below zero. */
async function expectHistorySquare(ask: AskRows): Promise<void> {
  const wrong = await ask(
    `SELECT license_id, feature, CAST(sum(net) AS BIGINT) AS net, CAST(sum(borrowed) AS BIGINT) AS borrowed
     FROM (SELECT license_id, feature, net, borrowed FROM history_slot
       UNION ALL SELECT license_id, '', -1, CASE WHEN borrowed_until IS NULL THEN 0 ELSE -1 END
         FROM registration
       UNION ALL SELECT license_id, feature, -1, CASE WHEN borrowed_until IS NULL THEN 0 ELSE -1 END
         FROM feature_slot) AS changes
     GROUP BY license_id, feature HAVING sum(net) <> 0 OR sum(borrowed) <> 0`,
  );
  assert.deepEqual(wrong, [], 'the history adds up to the slots that are held');
}
