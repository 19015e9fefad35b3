import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { RequestError } from '@berth/protocol/request-error';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { eventId, readPosition } from '../../../src/core/nouns/audit-position.ts';
import {
  createEventFeed,
  type EventFeed,
  type Subscription,
} from '../../../src/services/events/event-feed.ts';
import type { Query } from '../../../src/store/query.ts';
import type { Store } from '../../../src/store/store.ts';

const HOST = { hostname: null, address: null, info: null };

/** A feed over a real store, which also says what was read. */
async function openFeed(t: TestContext, slots = 5000) {
  const { store } = await openTestStore(t, [testLicense(1, { slots })]);
  const reads: Query[] = [];
  const read: Store['read'] = (query) => {
    reads.push(query);
    return store.read(query);
  };
  const feed = createEventFeed({ read });
  t.after(() => feed.close());
  return { store, feed, reads };
}

/** One link with two events: lent, and borrowed. */
async function borrow(store: Store, user: string): Promise<void> {
  const target = { product: null, licenseId: null };
  await store.execute({ kind: 'borrow', ...target, user, host: HOST, until: 'longest' });
}

/** As many events as links: registrations one after the other. */
async function register(store: Store, ...users: readonly string[]): Promise<void> {
  for (const user of users) {
    await store.execute({ kind: 'register', product: null, licenseId: null, user, host: HOST });
  }
}

function subscribe(feed: EventFeed, after: string | null, isStillAllowed = async () => true, caller = 'ada') {
  return feed.subscribe({ caller, after: after === null ? null : readPosition(after), isStillAllowed });
}

/** The ids of the next events, as many as asked for. */
async function take(subscription: Subscription, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const item = await subscription.next();
    if (item === null) break;
    if (item.kind !== 'links') continue;
    for (const { link, from } of item.links) {
      ids.push(...link.events.map((_, index) => eventId({ seq: link.seq, index })).slice(from));
    }
  }
  return ids;
}

/** Waits until it has nothing left to read, and hears of what is new by the poll. */
async function catchUp(feed: EventFeed, store: Store, subscription: Subscription, user: string) {
  assert.deepEqual(await subscription.next(), { kind: 'opened' });
  const first = take(subscription, 1);
  await new Promise(setImmediate);
  await register(store, user);
  await feed.poll();
  return first;
}

describe('a client that follows the events', () => {
  test('without a position gets what happens from now on', async (t) => {
    const { store, feed } = await openFeed(t);
    await register(store, 'ann', 'bob');
    const subscription = subscribe(feed, null);
    assert.deepEqual(await catchUp(feed, store, subscription, 'cyd'), ['4.0']);
    await register(store, 'dan');
    await feed.poll();
    assert.deepEqual(await take(subscription, 1), ['5.0']);
  });

  test('continues after every event without a gap or a repeat', async (t) => {
    const { store, feed } = await openFeed(t);
    await register(store, 'ann');
    await borrow(store, 'bob');
    await borrow(store, 'cyd');
    const all = ['1.0', '2.0', '3.0', '3.1', '4.0', '4.1'];
    assert.deepEqual(await take(subscribe(feed, '0'), all.length), all);
    for (const [place, id] of all.slice(0, -1).entries()) {
      const rest = all.slice(place + 1);
      assert.deepEqual(await take(subscribe(feed, id), rest.length), rest, id);
    }
    assert.deepEqual(await take(subscribe(feed, '3'), 2), ['4.0', '4.1'], 'behind a whole link');
  });

  test('reads a long log in pages, and then what is new', async (t) => {
    const { store, feed, reads } = await openFeed(t);
    const users = Array.from({ length: 250 }, (_, index) => `user-${index}`);
    await register(store, ...users);
    const subscription = subscribe(feed, '1');
    const expected = users.map((_, index) => `${index + 2}.0`);
    assert.deepEqual(await take(subscription, 250), expected);
    assert.ok(reads.length >= 3);
    assert.ok(reads.every((query) => query.kind === 'list_audit' && query.limit <= 100));
    await register(store, 'one-more');
    const next = take(subscription, 1);
    await feed.poll();
    assert.deepEqual(await next, ['252.0']);
  });

  test('misses nothing that is written while it catches up', async (t) => {
    const { store, feed } = await openFeed(t);
    const live = subscribe(feed, null);
    await catchUp(feed, store, live, 'first');
    const late = subscribe(feed, '1');
    const [heard] = await Promise.all([
      take(late, 41),
      (async () => {
        for (let n = 0; n < 40; n++) {
          await register(store, `user-${n}`);
          await feed.poll();
        }
      })(),
    ]);
    assert.deepEqual(
      heard,
      Array.from({ length: 41 }, (_, n) => `${n + 2}.0`),
    );
  });

  test('does not continue with a poll that is ahead of it', async (t) => {
    const { store } = await openTestStore(t, [testLicense(1)]);
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    const read: Store['read'] = async (query) => {
      const answer = await store.read(query);
      if (isHeld && query.kind === 'list_audit' && query.after === 1) {
        isHeld = false;
        await held.promise;
      }
      return answer;
    };
    const feed = createEventFeed({ read });
    const [quick, late] = [subscribe(feed, null), subscribe(feed, '1')];
    await catchUp(feed, store, quick, 'ann');
    await late.next();
    isHeld = true;
    const heard = take(late, 2);
    await new Promise(setImmediate);
    await register(store, 'bob');
    await feed.poll();
    held.resolve();
    assert.deepEqual(await heard, ['2.0', '3.0']);
  });

  test('reads at its own pace, while others continue', async (t) => {
    const { store, feed } = await openFeed(t);
    const [slow, quick] = [subscribe(feed, null), subscribe(feed, null)];
    for (const subscription of [slow, quick]) await subscription.next();
    await Promise.all(Array.from({ length: 2500 }, (_, n) => borrow(store, `user-${n}`)));
    await feed.poll();
    const heard = await take(quick, 5000);
    assert.equal(heard.length, 5000);
    assert.deepEqual(await take(slow, 5000), heard);
  });

  test('with a position beyond the log starts from now', async (t) => {
    const { store, feed } = await openFeed(t);
    const subscription = subscribe(feed, '999.3');
    assert.deepEqual(await catchUp(feed, store, subscription, 'ann'), ['2.0']);
  });

  test('gets the events of a standby that was behind, although their numbers were sent before', async (t) => {
    const { store } = await openTestStore(t, [testLicense(1)]);
    const { store: behind } = await openTestStore(t, [testLicense(1)]);
    let current = store;
    const feed = createEventFeed({ read: (query) => current.read(query) });
    t.after(() => feed.close());
    const subscription = subscribe(feed, null);
    assert.deepEqual(await catchUp(feed, store, subscription, 'ann'), ['2.0']);
    current = behind;
    await feed.poll();
    const heard = take(subscription, 1);
    await new Promise(setImmediate);
    await register(behind, 'bob');
    await feed.poll();
    assert.deepEqual(await heard, ['2.0']);
  });
});

describe('many clients', () => {
  test('cost one read together as long as nothing happens', async (t) => {
    const { store, feed, reads } = await openFeed(t);
    const all = Array.from({ length: 25 }, () => subscribe(feed, null));
    for (const subscription of all) await subscription.next();
    const heard = all.map((subscription) => take(subscription, 1));
    await new Promise(setImmediate);
    await borrow(store, 'ann');
    await feed.poll();
    for (const ids of heard) assert.deepEqual(await ids, ['2.0', '2.1']);
    reads.length = 0;
    await feed.poll();
    assert.equal(reads.length, 1);
  });

  test('if there are none, nothing is read', async (t) => {
    const { store, feed, reads } = await openFeed(t);
    await feed.poll();
    assert.deepEqual(reads, []);
    const subscription = subscribe(feed, null);
    await catchUp(feed, store, subscription, 'ann');
    subscription.end();
    reads.length = 0;
    await feed.poll();
    assert.deepEqual(reads, []);
    assert.equal(feed.subscriberCount, 0);
  });

  test('at most a hundred', async (t) => {
    const { feed } = await openFeed(t);
    const follow = (caller: string) => subscribe(feed, null, undefined, caller);
    const all = Array.from({ length: 100 }, (_, place) => follow(`caller ${place % 4}`));
    const isFull = (error: unknown) => error instanceof RequestError && error.code === 'too_many_subscribers';
    assert.throws(() => follow('another'), isFull);
    assert.throws(() => feed.requireRoom('another'), isFull);
    all[0]?.end();
    follow('another');
  });
});

describe('the stream ends for a client', () => {
  test('that reads nothing between two keep-alives', async (t) => {
    const { feed } = await openFeed(t);
    const [stuck, well] = [subscribe(feed, null), subscribe(feed, null)];
    for (const subscription of [stuck, well]) await subscription.next();
    await feed.beat();
    assert.deepEqual(await well.next(), { kind: 'beat' });
    await feed.beat();
    assert.equal(feed.subscriberCount, 1);
    assert.equal(await stuck.next(), null);
    assert.deepEqual(await well.next(), { kind: 'beat' });
  });

  test('but not if others keep the log busy with what it may not see', async (t) => {
    const { store, feed } = await openFeed(t);
    let pages = 0;
    const pick = async () => {
      pages += 1;
      await register(store, `user-${pages}`);
      await feed.poll();
      if (pages % 2 === 0) await feed.beat();
      return [];
    };
    const subscription = feed.subscribe({
      caller: 'ada',
      after: null,
      pick,
      isStillAllowed: async () => true,
    });
    await subscription.next();
    for (let beats = 0; beats < 3; beats++) assert.deepEqual(await subscription.next(), { kind: 'beat' });
  });

  test('that is no longer authorized, or cannot be checked', async (t) => {
    const { feed } = await openFeed(t);
    let isAllowed = true;
    const allowed = subscribe(feed, null, async () => isAllowed);
    await allowed.next();
    await feed.beat();
    assert.deepEqual(await allowed.next(), { kind: 'beat' });
    const waiting = allowed.next();
    isAllowed = false;
    const unknown = subscribe(feed, null, async () => {
      throw new Error('the disk is full');
    });
    await feed.beat();
    assert.equal(await waiting, null);
    assert.equal(await unknown.next(), null);
    assert.equal(feed.subscriberCount, 0);
  });

  test('and for all when the server stops, and no new one starts', async (t) => {
    const { feed } = await openFeed(t);
    const subscription = subscribe(feed, null);
    await subscription.next();
    const waiting = subscription.next();
    feed.close();
    assert.equal(await waiting, null);
    assert.equal(await subscribe(feed, null).next(), null);
    assert.equal(feed.subscriberCount, 0);
  });
});
