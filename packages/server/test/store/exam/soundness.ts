import assert from 'node:assert/strict';
import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import type { RecordedEvent } from '../../../src/core/nouns/audit-event.ts';
import { type ConsumptionTotals, windowStart } from '../../../src/core/nouns/consumption.ts';
import type { Instant } from '../../../src/core/nouns/instant.ts';
import type { LicenseId } from '../../../src/core/nouns/license.ts';
import type { AuditLink, LicenseRecord } from '../../../src/store/query.ts';
import type { Store } from '../../../src/store/store.ts';

/**
 * What must hold of any store at any time, whatever has happened: the chains verify, and the number in use,
 * the slots themselves, the totals and the history of events all say the same. It collects, as the sweeper
 * would.
 */
export async function expectSound(store: Store): Promise<void> {
  for (const id of await store.read({ kind: 'list_untidy' })) await collectAll(store, id);
  assert.deepEqual(await store.read({ kind: 'list_untidy' }), [], 'nothing is left to collect');
  const verdict = await store.read({ kind: 'verify_audit' });
  assert.deepEqual(verdict.problems, []);
  assert.equal(verdict.ok, true);
  for (const record of await store.read({ kind: 'list_licenses', product: null })) {
    await expectOneTruth(store, record);
  }
}

async function collectAll(store: Store, licenseId: LicenseId): Promise<void> {
  for (;;) {
    const outcome = await store.execute({ kind: 'collect', licenseId });
    assert.equal(outcome.kind, 'done');
    if (outcome.kind === 'done' && outcome.count === 0) return;
  }
}

async function expectOneTruth(store: Store, record: LicenseRecord): Promise<void> {
  const { license, inUse, borrowed, now } = record;
  const scope = { licenseId: license.id, product: null, user: null };
  const page = await store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null });
  const { registrations: slots } = page;
  assert.equal(inUse, slots.length, 'the number in use is the number of slots');
  const held = slots.filter(({ registration }) => (registration.borrowedUntil ?? 0) > now);
  assert.equal(borrowed, held.length, 'the number borrowed is the number of borrowed slots');
  const newestFirst = await store.read({ kind: 'list_audit', chain: license.id, limit: 1e6, before: null });
  const links = newestFirst.toReversed();
  const events = links.flatMap((link) => link.events);
  const balance = events.reduce((sum, event) => sum + effectOf(event), 0);
  assert.equal(balance, inUse, 'every slot that was lent and not given back is in use');
  expectSameFeatureSlots(record.totals, events);
  expectSameTotals(record, links);
}

/** How an event changes the number of slots in use. */
function effectOf(event: RecordedEvent): number {
  switch (event.kind) {
    case 'slot_lent':
      return 1;
    case 'slot_returned':
    case 'slot_expired':
    case 'slot_recalled':
      return -1;
    case 'all_slots_returned':
      return -event.count;
    default:
      return 0;
  }
}

/** Every feature slot that was lent and not given back is in use, and nobody gets a second one. */
function expectSameFeatureSlots({ features }: ConsumptionTotals, events: readonly RecordedEvent[]): void {
  const held = new Map<string, Set<string>>();
  const holdersOf = (feature: string) => held.get(feature) ?? new Set<string>();
  for (const event of events) {
    if (event.kind === 'feature_lent') {
      assert.ok(!holdersOf(event.feature).has(event.user), `${event.user} got a second slot`);
      held.set(event.feature, holdersOf(event.feature).add(event.user));
    } else if (event.kind === 'feature_returned' || event.kind === 'feature_expired') {
      assert.ok(holdersOf(event.feature).delete(event.user), `${event.user} gave back what was not held`);
    } else if (event.kind === 'all_features_returned' || event.kind === 'all_slots_returned') {
      held.clear();
    }
  }
  for (const { code, inUse } of features) {
    assert.equal(inUse, holdersOf(code).size, `the slots of "${code}" in use are those that were lent`);
  }
}

/** The total of the window that holds `now` is everything that the audit says was counted in it. */
function expectSameTotals({ license, totals, now }: LicenseRecord, links: readonly AuditLink[]): void {
  const counted = (feature: string | null, period: ConsumptionPeriod | null) =>
    sumCounts(links, feature, (at) => windowStart(period, at) === windowStart(period, now));
  assert.equal(totals.total, counted(null, license.consumption.period), 'the total is what was counted');
  for (const { code, consumption } of license.features) {
    const total = totals.features.find((feature) => feature.code === code)?.total;
    assert.equal(total, counted(code, consumption.period), `the total of "${code}" is what was counted`);
  }
}

/** How an event changes a total: what was counted here, and what the vendor's cloud knew better. */
function amountOf(event: RecordedEvent, feature: string | null): number {
  if (event.kind === 'consumption_added' && event.feature === feature) return event.count;
  if (event.kind === 'total_corrected' && event.feature === feature) return event.total - event.before;
  return 0;
}

function sumCounts(
  links: readonly AuditLink[],
  feature: string | null,
  isMeant: (at: Instant) => boolean,
): number {
  return links
    .filter(({ at }) => isMeant(at))
    .flatMap(({ events }) => events)
    .reduce((sum, event) => sum + amountOf(event, feature), 0);
}
