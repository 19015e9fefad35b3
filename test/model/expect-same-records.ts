import assert from 'node:assert/strict';
import { instant, plus } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import { expectAllSame } from './history-command.ts';
import type { ModelStore } from './model-stores.ts';
import type { WaitingModel } from './waiting-model.ts';

/**
 * Of the description of a store these are its own: each kind has its schema and its engine, and every store
 * an identity by chance.
 */
const ITS_OWN = ['kind', 'engine', 'host', 'schemaVersion', 'identity'] as const;

/** After a history all stores hold the same: every event of every chain, reports, rules, and what is open. */
export async function expectSameRecords(stores: readonly ModelStore[], ids: readonly LicenseId[]) {
  for (const chain of [...ids, 'system'] as const) {
    const events = await Promise.all(stores.map((store) => listEvents(store, chain)));
    expectAllSame(stores, events, `events of ${chain}`);
  }
  const kinds = ['list_backlog', 'list_usage', 'list_untidy', 'list_segments', 'find_rules'] as const;
  for (const kind of kinds) {
    const said = await Promise.all(stores.map(({ exam }) => exam.store.read({ kind })));
    expectAllSame(stores, said, kind);
  }
  expectAllSame(stores, await Promise.all(stores.map(describe)), 'description');
}

/**
 * Each with its time. Which of them share a link, and so the numbers of the links, depends on which commands
 * happened to share a commit. Only a server that has its data alone tells after a long rest that the clock
 * was ahead of the one it had kept: where several share it, the database's clock was never theirs to keep.
 */
async function listEvents({ exam }: ModelStore, chain: LicenseId | 'system') {
  const links = await exam.store.read({ kind: 'list_audit', chain, limit: 1e6, before: null });
  const events = links.toReversed().flatMap(({ at, events }) => events.map((event) => ({ at, ...event })));
  return events.filter(({ kind }) => kind !== 'clock_jumped');
}

/** How long users waited: each wait is recorded once. */
export async function expectSameWaits(
  stores: readonly [ModelStore, ...ModelStore[]],
  { waits }: WaitingModel,
): Promise<void> {
  const lists = await Promise.all(stores.map(listWaits));
  expectAllSame(stores, lists, 'waits');
  const sum = (kind: 'served' | 'unserved') => (lists[0] ?? []).reduce((total, one) => total + one[kind], 0);
  assert.deepEqual({ served: sum('served'), unserved: sum('unserved') }, waits, 'waits');
}

async function listWaits({ exam }: ModelStore) {
  const asked = { since: instant(0), until: plus(await exam.now(), 1), licenseId: null, feature: null };
  return exam.store.read({ kind: 'list_wait_history', ...asked });
}

async function describe({ exam }: ModelStore) {
  const description = await exam.store.read({ kind: 'describe_store' });
  return Object.entries(description).filter(([name]) => !(ITS_OWN as readonly string[]).includes(name));
}
