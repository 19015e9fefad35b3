import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pollUntil } from '../../../../../test/support/poll.ts';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { createWaitingRoom, type Patience } from '../../../src/services/lending/waiting-room.ts';
import type { Store } from '../../../src/store/store.ts';

const SETTINGS = {
  lending: { maxWaiting: 10, holdForRetries: 0 },
  http: { maxConnections: 100, maxConnectionsPerAddress: 100 },
};

const ask = (user: string) => ({
  kind: 'register' as const,
  product: 'cad',
  licenseId: null,
  user,
  host: { hostname: null, address: null, info: null },
});

function patient(): Patience {
  const client = { isGone: false, onGone: null };
  return { forMs: 50_000, client, isApplied: false, since: null, waitedMs: 0 };
}

async function countSlots(store: Store): Promise<number> {
  const all = { product: 'cad', licenseId: null, user: null, limit: 5, after: null };
  return (await store.read({ kind: 'list_registrations', ...all })).registrations.length;
}

test('a slot that was lent to clients who go before their answer is written is returned', async (t) => {
  const { store } = await openTestStore(t, [testLicense(1, { slots: 1 })]);
  const room = createWaitingRoom(store, { settings: { current: SETTINGS }, readMonotonicMs: () => 0 });
  await store.execute(ask('ann'));
  const patiences = [patient(), patient()];
  const waiting = patiences.map((patience) => room.execute(ask('bob'), patience));
  await pollUntil('both wait', () => patiences.every(({ since }) => since !== null) || undefined);
  await store.execute({ kind: 'unregister', product: 'cad', licenseId: null, user: 'ann' });
  for (const answer of waiting) assert.equal((await answer).kind, 'granted');
  const [first, second] = patiences.map(({ client }) => client);
  first?.onGone?.();
  // Commands are carried out in order.
  assert.equal((await store.execute(ask('eve'))).kind, 'refused', 'the other client has it');
  second?.onGone?.();
  await pollUntil('the slot is free', async () => (await countSlots(store)) === 0 || undefined);
});
