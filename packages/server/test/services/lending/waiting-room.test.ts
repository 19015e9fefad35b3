import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pollUntil } from '../../../../../test/support/poll.ts';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { createWaitingRoom, type Patience } from '../../../src/services/lending/waiting-room.ts';

const SETTINGS = {
  lending: { maxWaiting: 10, holdForRetries: 0 },
  http: { maxConnections: 100, maxConnectionsPerAddress: 100 },
};

test('a client that goes before its answer is written returns the slot that was lent to it', async (t) => {
  const { store } = await openTestStore(t, [testLicense(1, { slots: 1 })]);
  const room = createWaitingRoom(store, { settings: { current: SETTINGS }, readMonotonicMs: () => 0 });
  const ask = (user: string) => ({
    kind: 'register' as const,
    product: 'cad',
    licenseId: null,
    user,
    host: { hostname: null, address: null, info: null },
  });
  await store.execute(ask('ann'));
  const client: Patience['client'] = { isGone: false, onGone: null };
  const waiting = room.execute(ask('bob'), {
    forMs: 50_000,
    client,
    isApplied: false,
    since: null,
    waitedMs: 0,
  });
  await pollUntil('bob waits', async () => (await store.listWaiting()).waiting === 1 || undefined);
  await store.execute({ kind: 'unregister', product: 'cad', licenseId: null, user: 'ann' });
  assert.equal((await waiting).kind, 'granted');
  client.onGone?.();
  await pollUntil('the slot is free', async () => {
    const page = await store.read({
      kind: 'list_registrations',
      product: 'cad',
      licenseId: null,
      user: null,
      limit: 5,
      after: null,
    });
    return page.registrations.length === 0 || undefined;
  });
});
