import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pollUntil } from '../../../../../test/support/poll.ts';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { type LicenseId, licenseId } from '../../../src/core/nouns/license.ts';
import { createWaitingRoom, type Patience } from '../../../src/services/lending/waiting-room.ts';
import type { Executed, Store } from '../../../src/store/store.ts';
import { from } from '../../core/examples.ts';

const SETTINGS = {
  lending: { maxWaiting: 10, holdForRetries: 0 },
  http: { maxConnections: 100, maxConnectionsPerAddress: 100 },
};

const ask = (user: string, id: number | null = null) => ({
  kind: 'register' as const,
  product: 'cad',
  licenseId: id === null ? null : licenseId(id),
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

function giveBack(store: Store, user: string, id: number | null = null): Promise<Executed> {
  const { licenseId } = ask(user, id);
  return store.execute({ kind: 'unregister', product: 'cad', licenseId, user });
}

/** Clients of one user, each for one license or any. All are in line, in this order. */
async function startWaiting(t: TestContext, store: Store, ids: readonly (number | null)[]) {
  const room = createWaitingRoom(store, { settings: { current: SETTINGS }, readMonotonicMs: () => 0 });
  t.after(() => room.close());
  const clients: { readonly answer: Promise<Executed>; readonly patience: Patience }[] = [];
  for (const id of ids) {
    const patience = patient();
    clients.push({ patience, answer: room.execute(ask('bob', id), patience) });
    await pollUntil('waits', () => patience.since !== null || undefined);
  }
  return clients;
}

async function lenderOf(answer: Promise<Executed> | undefined): Promise<LicenseId | null> {
  const outcome = await answer;
  return outcome?.kind === 'granted' ? outcome.license.id : null;
}

/** Who holds slots of which license. */
async function listSlots(store: Store): Promise<readonly string[]> {
  const all = { product: 'cad', licenseId: null, user: null, limit: 5, after: null };
  const { registrations } = await store.read({ kind: 'list_registrations', ...all });
  return registrations.map(({ registration, licenseId: id }) => `${registration.user} on ${id}`).sort();
}

test('a slot that one client was answered with stays lent when another one of the user dies', async (t) => {
  const { store } = await openTestStore(t, [testLicense(1, { slots: 1 })]);
  await store.execute(ask('ann'));
  // What the second of those who are called is answered arrives late.
  const [isDecided, arrives] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let asked = 0;
  const slow: Store = {
    ...store,
    async execute(command) {
      const outcome = await store.execute(command);
      // Both have come, and are called.
      if (command.kind !== 'register' || ++asked !== 4) return outcome;
      isDecided.resolve();
      await arrives.promise;
      return outcome;
    },
  };
  const [first, second] = await startWaiting(t, slow, [null, null]);
  await giveBack(store, 'ann');
  assert.equal(await lenderOf(first?.answer), 1);
  await isDecided.promise;
  first?.patience.client.onGone?.();
  arrives.resolve();
  assert.equal(await lenderOf(second?.answer), 1);
  // Commands are carried out in order.
  assert.equal((await store.execute(ask('eve'))).kind, 'refused');
  assert.deepEqual(await listSlots(store), ['bob on 1']);
});

test('of slots of two licenses that one user waits for, each is returned by itself', async (t) => {
  const { store } = await openTestStore(
    t,
    [1, 2].map((id) => testLicense(id, { slots: 1 })),
  );
  for (const id of [1, 2]) await store.execute(ask('ann', id));
  const [first, second] = await startWaiting(t, store, [1, 2]);
  await giveBack(store, 'ann', 2);
  assert.equal(await lenderOf(second?.answer), 2);
  await giveBack(store, 'ann', 1);
  assert.equal(await lenderOf(first?.answer), 1);
  first?.patience.client.onGone?.();
  await store.execute({ kind: 'hand_on', product: 'cad' });
  assert.deepEqual(await listSlots(store), ['bob on 2']);
});

test('a client that goes leaves the place to one that waits for another license', async (t) => {
  const { store } = await openTestStore(
    t,
    [1, 2].map((id) => testLicense(id, { slots: 1 })),
  );
  for (const id of [1, 2]) await store.execute(ask('ann', id));
  const [other, gone] = await startWaiting(t, store, [2, 1]);
  gone?.patience.client.onGone?.();
  await giveBack(store, 'ann', 2);
  assert.equal(await lenderOf(other?.answer), 2);
  await giveBack(store, 'ann', 1);
  assert.deepEqual(await listSlots(store), ['bob on 2']);
});

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

test('who repeats the call counts among those who wait, in all and by address', async (t) => {
  const { store, clock } = await openTestStore(t, [testLicense(1, { slots: 1 })]);
  const current = {
    lending: { maxWaiting: 3, holdForRetries: 2 },
    http: { maxConnections: 100, maxConnectionsPerAddress: 4 },
  };
  const { readMonotonicMs } = clock;
  const room = createWaitingRoom(store, { settings: { current }, readMonotonicMs });
  t.after(() => room.close());
  const repeat = (user: string, address: string) => room.execute({ ...ask(user), ...from(address) });
  const listWaiting = async () => (await store.listWaiting()).places.map(({ user }) => user);
  await room.execute(ask('ann'));
  await Promise.all(['bob', 'cem', 'dan'].map((user) => repeat(user, '192.0.2.1')));
  assert.deepEqual(await listWaiting(), ['bob', 'cem'], 'half of the connections of an address');
  await repeat('bob', '192.0.2.1');
  await repeat('eve', '192.0.2.2');
  await repeat('fay', '192.0.2.3');
  assert.deepEqual(await listWaiting(), ['bob', 'cem', 'eve'], 'no more than may wait');
  const turnedAway = patient();
  assert.equal((await room.execute(ask('gil'), turnedAway)).kind, 'refused');
  assert.equal(turnedAway.isApplied, false, 'who would wait is turned away as well');
  clock.advance(2000);
  await repeat('dan', '192.0.2.1');
  assert.deepEqual((await listWaiting()).includes('dan'), true, 'their time is over');
});
