import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import type { Follower } from '../../../src/core/nouns/audit-position.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import type { Delivery, EventReceiver } from '../../../src/receivers/event-receiver.ts';
import { Deliveries } from '../../../src/services/events/deliveries.ts';
import { createQuietLog } from '../../../src/telemetry/log.ts';

/** A receiver that takes portions of three, whose answers are given in advance. */
async function openForwarding(t: TestContext) {
  const { store, clock } = await openTestStore(t, [testLicense(1, { slots: 100 })]);
  const portions: (readonly string[])[] = [];
  const answers: Delivery[] = [];
  const receiver: EventReceiver = {
    most: 3,
    async send(events) {
      portions.push(events.map(({ event }) => ('user' in event ? String(event.user) : event.kind)));
      return answers.shift() ?? { kind: 'delivered' };
    },
  };
  const create = (used = store, follower: Follower = 'syslog') =>
    new Deliveries({
      store: used,
      follower,
      called: 'the receiver',
      giveUpMs: null,
      findTarget: async () => ({ isOn: true, receiver, kinds: null, problem: null }),
      log: createQuietLog(),
      readMonotonicMs: clock.readMonotonicMs,
    });
  const register = async (...users: readonly string[]) => {
    const host = { hostname: null, address: null, info: null };
    for (const user of users)
      await store.execute({ kind: 'register', product: null, licenseId: null, user, host });
  };
  const deliveries = create();
  await deliveries.begin();
  return { store, clock, portions, answers, create, register, deliveries };
}

test('every event is sent in portions, and a portion that failed again, by whoever leads then', async (t) => {
  const { portions, answers, create, register, deliveries } = await openForwarding(t);
  await register('ann', 'bob', 'cat', 'dan', 'eve');
  answers.push({ kind: 'delivered' }, { kind: 'failed', reason: 'it is away' });
  await deliveries.deliver();
  assert.deepEqual(portions, [
    ['ann', 'bob', 'cat'],
    ['dan', 'eve'],
  ]);
  const { state, waiting, delivered } = await deliveries.describe();
  assert.deepEqual([state, waiting, delivered], ['failing', 2, 3]);
  await create().deliver();
  assert.deepEqual(portions.slice(2), [['dan', 'eve']]);
});

test('what waits for a receiver that fails is counted without reading the log again', async (t) => {
  const { store, clock, answers, create, register } = await openForwarding(t);
  let links = 0;
  const deliveries = create({
    ...store,
    async read(query) {
      const answer = await store.read(query);
      if (query.kind === 'list_audit') links += (answer as readonly unknown[]).length;
      return answer;
    },
  });
  const look = async () => {
    links = 0;
    const { waiting } = await deliveries.describe();
    return { waiting, links };
  };
  await register('ann', 'bob', 'cat', 'dan', 'eve');
  answers.push({ kind: 'delivered' }, { kind: 'failed', reason: 'it is away' });
  await deliveries.deliver();
  assert.deepEqual(await look(), { waiting: 2, links: 0 });
  await register('fay');
  assert.deepEqual(await look(), { waiting: 3, links: 1 });
  assert.deepEqual(await look(), { waiting: 3, links: 0 });
  clock.advance(MINUTE_MS);
  await deliveries.deliver();
  assert.deepEqual(await look(), { waiting: 0, links: 0 });
  await register('gus', 'hal');
  assert.deepEqual(await look(), { waiting: 2, links: 2 });
});

test('no event is too old', async (t) => {
  const { clock, portions, answers, register, deliveries } = await openForwarding(t);
  await register('ann');
  answers.push({ kind: 'failed', reason: 'it is away' });
  await deliveries.deliver();
  clock.advance(90 * DAY_MS);
  await deliveries.deliver();
  assert.deepEqual(portions.at(-1)?.slice(0, 1), ['ann']);
  assert.equal((await deliveries.describe()).dropped, 0);
});

test('it begins where it was switched on, even if that could not be stored at first', async (t) => {
  const { store, portions, create, register } = await openForwarding(t);
  const fresh = create(
    {
      ...store,
      async execute(command) {
        if (command.kind === 'set_cursor' && portions.length === 0) {
          portions.push([]);
          throw new Error('the disk is full');
        }
        return store.execute(command);
      },
    },
    'file',
  );
  await assert.rejects(fresh.deliver(), /full/);
  await fresh.deliver();
  await register('ann');
  await fresh.deliver();
  assert.deepEqual(portions, [[], ['ann']]);
});
