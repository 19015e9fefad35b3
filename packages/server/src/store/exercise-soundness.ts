import assert from 'node:assert/strict';
import type { AuditEvent } from '../core/audit-event.ts';
import type { LicenseId } from '../core/license.ts';
import type { LicenseRecord } from './query.ts';
import type { Store } from './store.ts';

/**
 * What must hold of any store at any time, whatever has happened: the chains verify, and the number in use,
 * the slots themselves and the history of events all say the same. It collects, as the sweeper would.
 */
export async function expectSound(store: Store): Promise<void> {
  for (const { license } of await store.read({ kind: 'list_licenses', product: null })) {
    await collectAll(store, license.id);
  }
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

async function expectOneTruth(store: Store, { license, inUse, borrowed, now }: LicenseRecord): Promise<void> {
  const scope = { licenseId: license.id, product: null, user: null };
  const slots = await store.read({ kind: 'list_registrations', ...scope, limit: 1e6, after: null });
  assert.equal(inUse, slots.length, 'the number in use is the number of slots');
  const held = slots.filter(({ registration }) => (registration.borrowedUntil ?? 0) > now);
  assert.equal(borrowed, held.length, 'the number borrowed is the number of borrowed slots');
  const links = await store.read({ kind: 'list_audit', chain: license.id, limit: 1e6, before: null });
  const balance = links.flatMap(({ events }) => events).reduce((sum, event) => sum + effectOf(event), 0);
  assert.equal(balance, inUse, 'every slot that was lent and not given back is in use');
}

/** How an event changes the number of slots in use. */
function effectOf(event: AuditEvent): number {
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
