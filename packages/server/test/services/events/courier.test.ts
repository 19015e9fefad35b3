import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { START } from '../../../../../test/support/test-app.ts';
import { instant, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import type { Store } from '../../../src/store/store.ts';
import { deny, openChannels, read } from './open-channels.ts';

const MONDAY = instant(Date.UTC(2030, 0, 21, 8));

/** A disk that takes no position until it is restored. */
function breakDisk(t: TestContext, store: Store) {
  const { execute } = store;
  return t.mock.method(store, 'execute', (command: Parameters<Store['execute']>[0]) =>
    command.kind === 'set_cursor' ? Promise.reject(new Error('disk')) : execute.call(store, command),
  ).mock;
}

describe('while nothing can be written', () => {
  test('a message is sent once, and stored when it can be', async (t) => {
    const { store, clock, receiver, channels, create } = await openChannels(t);
    await deny(store, 3);
    const disk = breakDisk(t, store);
    for (let at = 0; at < 5; at += 1) await assert.rejects(channels.round(), /disk/);
    assert.equal(receiver.requests.length, 1);
    disk.restore();
    await deny(store, 2, 'v');
    await channels.round();
    clock.advance(10 * MINUTE_MS);
    await create().round();
    assert.equal(receiver.requests.length, 2);
    assert.match(read(receiver.requests[1]?.body).text, /^2 more refusals/);
  });

  test('a receiver that fails is left alone', async (t) => {
    const { store, receiver, channels } = await openChannels(t);
    receiver.react(...Array.from({ length: 9 }, () => ({ status: 500 })));
    await deny(store, 3);
    const disk = breakDisk(t, store);
    for (let at = 0; at < 6; at += 1) await assert.rejects(channels.round(), /disk/);
    disk.restore();
    assert.equal(receiver.requests.length, 1);
    for (let at = 0; at < 4; at += 1) await channels.round();
    assert.ok(receiver.requests.length <= 4, `${receiver.requests.length} tries`);
    assert.equal((await channels.list())[0]?.state, 'failing');
  });
});

describe('a digest', () => {
  test('that does not arrive is tried again', async (t) => {
    const { clock, receiver, channels } = await openChannels(t, { digest: 'weekly', topics: [] });
    clock.advance(MONDAY - START);
    receiver.react({ status: 500 });
    for (let at = 0; at < 5; at += 1) await channels.round();
    const ids = receiver.requests.map(({ body }) => read(body).id);
    assert.deepEqual(ids, ['weekly-2030-01-14.ops', 'weekly-2030-01-14.ops']);
    assert.equal((await channels.list())[0]?.state, 'ok');
  });

  test('that cannot be written is a failure of the channel', async (t) => {
    const { store, clock, receiver, channels } = await openChannels(t, { digest: 'weekly', topics: [] });
    clock.advance(MONDAY - START);
    const { read: query } = store;
    const broken = t.mock.method(store, 'read', (asked: { kind: string }) =>
      asked.kind === 'list_slot_history'
        ? Promise.reject(new Error('late'))
        : query.call(store, asked as never),
    );
    for (let at = 0; at < 5; at += 1) await channels.round();
    const asked = broken.mock.calls.filter(({ arguments: [{ kind }] }) => kind === 'list_slot_history');
    assert.ok(asked.length <= 4, `${asked.length} tries in five seconds`);
    const [state] = await channels.list();
    assert.deepEqual(
      [state?.state, /digest could not be written/.test(state?.error ?? '')],
      ['failing', true],
    );
    broken.mock.restore();
    clock.advance(5 * MINUTE_MS);
    await channels.round();
    assert.equal(receiver.requests.length, 1);
  });

  test('is left by a server that stops', async (t) => {
    const { store, clock, receiver, channels, create } = await openChannels(t, {
      digest: 'weekly',
      topics: [],
    });
    await deny(store, 2);
    clock.advance(MONDAY - START);
    const { read: query } = store;
    const asked: string[] = [];
    const mocked = t.mock.method(store, 'read', (wanted: { kind: string }) => {
      asked.push(wanted.kind);
      if (wanted.kind === 'list_slot_history') channels.stop();
      return query.call(store, wanted as never);
    });
    await channels.round();
    assert.deepEqual([asked.includes('begin_what_if'), receiver.requests.length], [false, 0]);
    mocked.mock.restore();
    await create().round();
    assert.equal(receiver.requests.length, 1);
  });

  test('is written for one channel at a time', async (t) => {
    const { store, clock, receiver, channels } = await openChannels(t, { digest: 'weekly', topics: [] });
    await channels.put('chat', { kind: 'slack', url: receiver.url, digest: 'weekly', topics: [] }, 'ada');
    clock.advance(MONDAY - START);
    const { read: query } = store;
    let [atOnce, most] = [0, 0];
    t.mock.method(store, 'read', async (asked: { kind: string }) => {
      if (asked.kind !== 'list_slot_history') return query.call(store, asked as never);
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise(setImmediate);
      const answer = await query.call(store, asked as never);
      atOnce -= 1;
      return answer;
    });
    await channels.round();
    assert.deepEqual([receiver.requests.length, most], [2, 1]);
  });
});

describe('the log', () => {
  /** A log without an end, and how often it was read. */
  function readForever(t: TestContext, store: Store) {
    const { read: query } = store;
    const pages: unknown[] = [];
    t.mock.method(store, 'read', (asked: { kind: string; after?: number; limit: number }) => {
      if (asked.kind !== 'list_audit') return query.call(store, asked as never);
      pages.push(asked);
      const first = (asked.after ?? 0) + 1;
      return Promise.resolve(
        Array.from({ length: asked.limit }, (_, at) => ({
          seq: first + at,
          chain: 0,
          at: MONDAY,
          events: [],
        })),
      );
    });
    return pages;
  }

  test('is read in rounds of some pages', async (t) => {
    const { store, channels } = await openChannels(t);
    const pages = readForever(t, store);
    await channels.round();
    assert.equal(pages.length, 20);
    assert.equal((pages[0] as { eventLimit: number }).eventLimit, 5000);
  });

  test('is not read on by a server that stops or no longer leads', async (t) => {
    const { store, channels } = await openChannels(t);
    const pages = readForever(t, store);
    t.mock.method(store, 'isLeader', () => pages.length < 3);
    await channels.round();
    assert.equal(pages.length, 3);
    channels.stop();
    t.mock.method(store, 'isLeader', () => true);
    await channels.round();
    assert.equal(pages.length, 3);
  });
});

describe('a channel that is removed', () => {
  test('leaves nothing to one that gets its name, although another server still sends', async (t) => {
    const { store, receiver, channels, create } = await openChannels(t);
    await deny(store, 1);
    const { execute } = store;
    t.mock.method(store, 'execute', async (command: Parameters<Store['execute']>[0]) => {
      if (command.kind === 'set_cursor') await create().remove('ops', 'ada');
      return execute.call(store, command);
    });
    await channels.round();
    await channels.round();
    assert.equal(receiver.requests.length, 1);
    assert.equal(await store.read({ kind: 'find_follower', follower: 'channel ops' }), null);
  });

  test('is resumed in one commit', async (t) => {
    const { store, receiver, channels } = await openChannels(t);
    await channels.put('ops', { paused: true }, 'ada');
    await deny(store, 2);
    const disk = breakDisk(t, store);
    await channels.put('ops', { paused: false }, 'ada');
    disk.restore();
    await channels.round();
    assert.equal(receiver.requests.length, 0, 'what happened meanwhile is not told');
  });
});
