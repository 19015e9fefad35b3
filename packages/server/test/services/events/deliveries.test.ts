import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { openWebhookReceiver, type Reaction } from '../../../../../test/support/webhook-receiver.ts';
import { backOffMs } from '../../../src/core/back-off.ts';
import { endOfLink } from '../../../src/core/nouns/audit-position.ts';
import { DAY_MS, HOUR_MS, instant, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { presentSent } from '../../../src/http/reply/present-event.ts';
import { createHttpWebhooks } from '../../../src/receivers/http-webhooks.ts';
import { refuseAddresses } from '../../../src/receivers/refused-addresses.ts';
import { BACK_OFF } from '../../../src/services/events/deliveries.ts';
import { type WebhookOptions, Webhooks, type WebhookTarget } from '../../../src/services/events/webhooks.ts';
import type { ManualClock } from '../../../src/store/clock.ts';
import type { Store } from '../../../src/store/store.ts';

const SECRET = 'a secret of more than thirty-two characters';
const TOPICS = ['slot_denied', 'license_expiring', 'cloud_unreachable', 'clock_jumped'] as const;
const HOST = { hostname: null, address: null, info: null };

/** Deliveries over real HTTP from a real store, on a clock that is moved by hand. */
async function openDeliveries(t: TestContext, target: Partial<WebhookTarget> = {}) {
  const { store, clock } = await openTestStore(t, [testLicense(1, { slots: 1 })]);
  const receiver = await openWebhookReceiver(t);
  const cutOff = new AbortController();
  const lines: string[] = [];
  const createWebhooks = (
    url = receiver.url,
    timeoutMs = 10_000,
    { signal } = cutOff,
    others: Partial<WebhookOptions> = {},
  ) => {
    const http = createHttpWebhooks({
      url,
      secret: SECRET,
      userAgent: 'Berth/1.2.3',
      refused: refuseAddresses({ privateAddresses: true }),
      timeoutMs,
      signal,
      readWall: clock.readWall,
      present: presentSent,
    });
    return new Webhooks({
      store,
      findTarget: async () => ({ isOn: true, receiver: http, topics: TOPICS, problem: null, ...target }),
      log: pino({ level: 'debug' }, { write: (line) => lines.push(line) }),
      readMonotonicMs: clock.readMonotonicMs,
      ...others,
    });
  };
  const create = (...options: Parameters<typeof createWebhooks>) => createWebhooks(...options).deliveries;
  const webhooks = create();
  await webhooks.begin();
  return { store, clock, receiver, webhooks, create, createWebhooks, cutOff, lines };
}

/** The only slot is borrowed for days: everybody but the first is denied, each with an event. */
async function ask(store: Store, ...users: readonly string[]): Promise<void> {
  for (const user of users) {
    const target = { product: null, licenseId: null, user, host: HOST };
    if (user === 'ann') await store.execute({ kind: 'borrow', ...target, until: 'longest' });
    else await store.execute({ kind: 'register', ...target });
  }
}

/** Longer than any wait between two tries. */
function pass(clock: ManualClock): void {
  clock.advance(6 * MINUTE_MS);
}

function times(count: number, reaction: Reaction): Reaction[] {
  return Array.from({ length: count }, () => reaction);
}

describe('a receiver', () => {
  test('gets what it subscribed to, signed, and can verify it', async (t) => {
    const { store, clock, receiver, webhooks } = await openDeliveries(t);
    await ask(store, 'ann', 'bob');
    await webhooks.deliver();
    const [got] = receiver.requests;
    assert.equal(receiver.requests.length, 1);
    assert.equal(got?.headers['content-type'], 'application/json');
    assert.equal(got?.headers['user-agent'], 'Berth/1.2.3');
    const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(
      got?.headers['berth-signature'] as string,
    ) as RegExpExecArray;
    assert.equal(Number(seconds), Math.floor(clock.readWall() / 1000));
    const expected = createHmac('sha256', SECRET).update(`${seconds}.${got?.body}`).digest('hex');
    assert.equal(signature, expected);
    const { id, kind, at, license_id, user, code } = JSON.parse(got?.body as string);
    assert.equal(id, got?.headers['berth-event-id']);
    assert.deepEqual(
      { id, kind, at, license_id, user, code },
      {
        id: '3.0',
        kind: 'slot_denied',
        at: new Date(clock.readWall()).toISOString(),
        license_id: 1,
        user: 'bob',
        code: 'floating_not_available',
      },
    );
  });

  test('gets only the events of its topics, and related ones', async (t) => {
    const { store, clock, receiver, webhooks } = await openDeliveries(t, {
      topics: ['slot_denied', 'cloud_unreachable'],
    });
    const license = { licenseId: testLicense(1).id, product: 'cad', validUntil: instant(1) };
    await store.execute({ kind: 'note', notice: { kind: 'license_expiring', ...license } });
    const failing = { failingAt: clock.readWall(), code: 'cloud_unavailable', reason: 'timeout' };
    await store.execute({ kind: 'note', notice: { kind: 'cloud_unreachable', ...failing } });
    await ask(store, 'ann', 'bob', 'bob');
    await store.execute({ kind: 'note', notice: { kind: 'cloud_reachable' } });
    clock.advance(2 * MINUTE_MS);
    await store.execute({ kind: 'collect', licenseId: license.licenseId });
    await webhooks.deliver();
    const kinds = ['cloud_unreachable', 'slot_denied', 'cloud_reachable', 'denials_repeated'];
    assert.deepEqual(receiver.kinds, kinds);
  });

  test('costs one look at the clock, however many events it gets', async (t) => {
    const { store, receiver, webhooks } = await openDeliveries(t);
    await ask(store, 'ann', 'bob', 'cat', 'dan');
    const { mock } = t.mock.method(store, 'keepClock');
    await webhooks.deliver();
    await webhooks.deliver();
    assert.deepEqual([receiver.requests.length, mock.callCount()], [3, 1]);
  });

  test('gets no events from before it was configured', async (t) => {
    const { store, receiver, webhooks, create } = await openDeliveries(t);
    await ask(store, 'ann', 'bob');
    await create().begin();
    await webhooks.deliver();
    assert.equal(receiver.requests.length, 1, 'a second start begins where the first did');
    const fresh = await openTestStore(t, [testLicense(1, { slots: 1 })]);
    await ask(fresh.store, 'ann', 'bob');
    const late = new Webhooks(optionsOf(fresh)).deliveries;
    await late.begin();
    assert.equal((await late.describe()).waiting, 0);
    await ask(fresh.store, 'cyd');
    assert.equal((await late.describe()).waiting, 1);
  });

  function optionsOf({ store, clock }: Awaited<ReturnType<typeof openTestStore>>) {
    const log = pino({ level: 'silent' });
    const receiver = { most: 1, send: async () => ({ kind: 'stopping' }) as const };
    const findTarget = async () => ({ isOn: true, receiver, topics: TOPICS, problem: null });
    return { store, findTarget, log, readMonotonicMs: clock.readMonotonicMs };
  }
});

describe('an undelivered event', () => {
  const bad: readonly (readonly [string, Reaction])[] = [
    ['a problem of its own', { status: 500 }],
    ['a refusal', { status: 404 }],
    ['a redirect', { status: 307, headers: { location: '/elsewhere' } }],
    ['a connection that breaks', 'cut'],
  ];
  for (const [what, reaction] of bad) {
    test(`because of ${what} is sent again under its id until accepted; later ones wait`, async (t) => {
      const { store, clock, receiver, webhooks } = await openDeliveries(t);
      receiver.react(...times(3, reaction));
      await ask(store, 'ann', 'bob', 'cyd');
      for (let round = 0; round < 3; round++) {
        await webhooks.deliver();
        await webhooks.deliver();
        assert.equal(receiver.requests.length, round + 1, 'not before its time');
        assert.equal((await webhooks.describe()).state, 'failing');
        pass(clock);
      }
      await webhooks.deliver();
      assert.deepEqual(receiver.ids, ['3.0', '3.0', '3.0', '3.0', '4.0']);
      const bodies = receiver.requests.slice(0, 4).map(({ body }) => body);
      assert.equal(new Set(bodies).size, 1);
      const { state, waiting, delivered, failingAt, error } = await webhooks.describe();
      assert.deepEqual([state, waiting, delivered, failingAt, error], ['ok', 0, 2, null, null]);
    });
  }

  test('because nothing listens there, or nothing answers, is kept', async (t) => {
    const { store, receiver, create } = await openDeliveries(t);
    await ask(store, 'ann', 'bob');
    const nowhere = create('http://127.0.0.1:2/');
    await nowhere.deliver();
    const { state, error, waiting } = await nowhere.describe();
    assert.deepEqual([state, waiting], ['failing', 1]);
    assert.match(error as string, /^it cannot be reached \(\w+\)$/);
    receiver.react('hang');
    const silent = create(receiver.url, 50);
    await silent.deliver();
    assert.equal((await silent.describe()).error, 'it did not answer in time');
  });

  test('is dropped after a day, logged and counted; younger ones are not', async (t) => {
    const { store, clock, receiver, webhooks, lines } = await openDeliveries(t);
    receiver.react(...times(100, { status: 503 }));
    await ask(store, 'ann', 'bob');
    clock.advance(HOUR_MS);
    await ask(store, 'cyd');
    clock.advance(DAY_MS - HOUR_MS - 1);
    await webhooks.deliver();
    assert.deepEqual(receiver.ids, ['3.0']);
    clock.advance(1);
    await webhooks.deliver();
    const { dropped, waiting, state } = await webhooks.describe();
    assert.deepEqual([dropped, waiting, state], [1, 1, 'failing']);
    assert.match(lines.join(''), /"dropped":1,.*were dropped/);
    receiver.react();
    pass(clock);
    await webhooks.deliver();
    assert.deepEqual(receiver.users, ['bob', 'cyd']);
    assert.equal((await webhooks.describe()).delivered, 1);
  });

  test("is dropped in the end even if the server's time was set back", async (t) => {
    const { store, clock, receiver, webhooks } = await openDeliveries(t, {
      topics: ['slot_denied'],
    });
    receiver.react(...times(100, { status: 503 }));
    await ask(store, 'ann', 'bob');
    clock.setWall(instant(clock.readWall() - 30 * DAY_MS));
    await store.execute({ kind: 'reset_clock', by: 'test' });
    await webhooks.deliver();
    clock.advance(DAY_MS);
    await webhooks.deliver();
    assert.equal((await webhooks.describe()).dropped, 1);
  });

  test('that is refused for good (410) is dropped at once', async (t) => {
    const { store, receiver, webhooks } = await openDeliveries(t);
    receiver.react({ status: 410 });
    await ask(store, 'ann', 'bob', 'cyd');
    await webhooks.deliver();
    assert.deepEqual(receiver.ids, ['3.0', '4.0']);
    const { dropped, delivered } = await webhooks.describe();
    assert.deepEqual([dropped, delivered], [1, 1]);
  });

  test('is retried less and less often, up to five minutes', () => {
    assert.deepEqual(
      [1, 2, 3, 10, 1000].map((failures) => backOffMs(failures, BACK_OFF, 1)),
      [1000, 2000, 4000, 300_000, 300_000],
    );
    assert.equal(backOffMs(1, BACK_OFF, 0), 500);
  });
});

describe('after a restart', () => {
  test('everything continues after the last accepted event', async (t) => {
    const { store, receiver, webhooks, create } = await openDeliveries(t);
    await ask(store, 'ann', 'bob', 'cyd');
    await webhooks.deliver();
    await ask(store, 'dan', 'eve');
    await create().deliver();
    assert.deepEqual(receiver.ids, ['3.0', '4.0', '5.0', '6.0']);
  });

  test('an interrupted event is sent again under its id', async (t) => {
    const { store, receiver, webhooks, create, cutOff } = await openDeliveries(t);
    receiver.react('hang');
    await ask(store, 'ann', 'bob');
    const round = webhooks.deliver();
    await receiver.arrived(1);
    cutOff.abort();
    await round;
    assert.equal((await webhooks.describe()).state, 'untried', 'no fault of the receiver');
    receiver.react();
    await create(receiver.url, 10_000, new AbortController()).deliver();
    assert.deepEqual(receiver.ids, ['3.0', '3.0']);
  });

  test('skipped events are not read again', async (t) => {
    const { store, webhooks } = await openDeliveries(t);
    const event = { kind: 'server_started', version: '1' } as const;
    for (let n = 0; n < 499; n++) await store.execute({ kind: 'record_event', event });
    await webhooks.deliver();
    assert.equal((await store.read({ kind: 'find_cursor', follower: 'webhook' }))?.seq, 1);
    await store.execute({ kind: 'record_event', event });
    await webhooks.deliver();
    assert.equal((await store.read({ kind: 'find_cursor', follower: 'webhook' }))?.seq, 501);
  });

  test('an endless answer delays nothing', async (t) => {
    const { store, receiver, create } = await openDeliveries(t);
    receiver.react('endless');
    await ask(store, 'ann', 'bob', 'cyd');
    await create(receiver.url, 10 * MINUTE_MS).deliver();
    assert.deepEqual(receiver.ids, ['3.0', '4.0']);
  });
});

test('a test event is delivered at once, and its result is told', async (t) => {
  const { store, clock, receiver, createWebhooks } = await openDeliveries(t);
  const tried = createWebhooks();
  const webhooks = tried.deliveries;
  assert.equal((await webhooks.describe()).state, 'untried');
  const { durationMs: _, ...taken } = await tried.test('ada');
  assert.deepEqual(taken, { delivered: true, status: 200, error: null });
  assert.equal(JSON.parse(receiver.requests[0]?.body ?? '').by, 'ada');
  assert.deepEqual(receiver.kinds, ['webhook_test']);
  const { state, deliveredAt, delivered } = await webhooks.describe();
  assert.deepEqual([state, deliveredAt, delivered], ['ok', clock.readWall(), 1]);
  receiver.react({ status: 503 }, { status: 410 });
  const { status, error } = await tried.test('ada');
  assert.equal(status, 503);
  assert.equal(error, 'The test event was not delivered: the receiver answered with status 503.');
  const failing = await webhooks.describe();
  assert.deepEqual([failing.state, failing.error], ['failing', 'it answered with status 503']);
  assert.match((await tried.test('ada')).error ?? '', /status 410/);
  const unreachable = await createWebhooks('http://127.0.0.1:1/').test('ada');
  assert.equal(unreachable.status, null);
  assert.match(unreachable.error ?? '', /: the receiver cannot be reached \(/);
  await ask(store, 'ann', 'bob');
  await webhooks.deliver();
  assert.equal((await webhooks.describe()).state, 'ok', 'events are sent as if there had been no test');
});

test('without a receiver nothing is read, and the status says so', async (t) => {
  const { store, webhooks } = await openDeliveries(t, { isOn: false, receiver: null });
  await ask(store, 'ann', 'bob');
  await webhooks.deliver();
  const { state, waiting } = await webhooks.describe();
  assert.deepEqual([state, waiting], ['off', 0]);
});

describe('several servers', () => {
  /** Two that share the data; who of them leads is said by the test. */
  async function openTwo(t: TestContext) {
    const state = { leader: 'one' };
    const { store, receiver, create } = await openDeliveries(t);
    const serve = (name: string) =>
      create(receiver.url, 10_000, new AbortController(), {
        store: { ...store, isLeader: () => state.leader === name },
      });
    return { state, store, receiver, one: serve('one'), two: serve('two') };
  }

  test('the new leader continues where the other one was, even if it has delivered before', async (t) => {
    const { state, store, receiver, one, two } = await openTwo(t);
    await ask(store, 'ann', 'bob');
    await one.deliver();
    state.leader = 'two';
    await ask(store, 'cat', 'dan');
    await two.deliver();
    state.leader = 'one';
    await ask(store, 'eve');
    await one.deliver();
    assert.deepEqual(receiver.users, ['bob', 'cat', 'dan', 'eve']);
  });

  test('one that no longer leads stops delivering', async (t) => {
    const { store, receiver, create } = await openDeliveries(t);
    const isLeader = () => receiver.requests.length === 0;
    const one = create(receiver.url, 10_000, new AbortController(), { store: { ...store, isLeader } });
    await ask(store, 'ann', 'bob', 'cat');
    await one.deliver();
    assert.deepEqual(receiver.users, ['bob']);
  });

  test('one that does not lead still reports how many are waiting', async (t) => {
    const { store, one, two } = await openTwo(t);
    await ask(store, 'ann', 'bob', 'cat');
    assert.equal((await two.describe()).waiting, 2);
    await one.deliver();
    assert.equal((await two.describe()).waiting, 0);
  });

  test('the events of a promoted standby that was behind are delivered, though numbered alike', async (t) => {
    const { store, receiver, create } = await openDeliveries(t);
    const { store: behind } = await openTestStore(t, [testLicense(1, { slots: 1 })]);
    let current = store;
    const database: Store = {
      ...store,
      read: (query) => current.read(query),
      execute: (command) => current.execute(command),
    };
    const webhooks = create(receiver.url, 10_000, new AbortController(), { store: database });
    await ask(behind, 'ann');
    await behind.execute({ kind: 'set_cursor', follower: 'webhook', position: endOfLink(2), isFirst: true });
    await ask(store, 'ann', 'bob', 'cyd');
    await webhooks.deliver();
    current = behind;
    await ask(behind, 'dan');
    await webhooks.deliver();
    assert.deepEqual(receiver.users, ['bob', 'cyd', 'dan']);
  });
});
