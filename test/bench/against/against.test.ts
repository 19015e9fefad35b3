import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LoadRun } from '../load/load-run.ts';
import { listComparisons } from './comparisons.ts';
import { findListener } from './find-listener.ts';
import { readPeerWish } from './peer.ts';
import { createStandInRelay } from './stand-in-relay.ts';

const DEMO = { product: 'demo', countingProduct: null, slots: 5 };

test('a relay is driven through its own calls, and every answer is one of those it may give', async (t) => {
  const relay = createStandInRelay(200).listen(0, '127.0.0.1');
  t.after(() => relay.close());
  await once(relay, 'listening');
  const { port } = relay.address() as AddressInfo;
  const comparisons = listComparisons('relay', { ...DEMO, slots: 200 });
  assert.deepEqual([...new Set(comparisons.map(({ name }) => name))], ['heartbeat', 'churn']);
  for (const { theirs } of comparisons.filter(({ theirs }) => theirs.connections === 16)) {
    const { answered, errors, firstError } = await new LoadRun({
      ...{ servers: [{ host: '127.0.0.1', port }], connections: theirs.connections },
      ...{ requests: theirs.requests, isStaggered: false, users: theirs.users, earlierRounds: 0 },
      ...{ warmupSeconds: 0, seconds: 10, rate: null, rounds: 50 },
    }).run();
    assert.equal(firstError, null);
    assert.equal(errors, 0);
    assert.equal(answered, 50 * theirs.requests.length);
  }
});

test('a license with few slots is only renewed, by as many users as it has slots', () => {
  const comparisons = listComparisons('berth', DEMO);
  assert.deepEqual([...new Set(comparisons.map(({ name }) => name))], ['heartbeat']);
  for (const { theirs } of comparisons) assert.equal(theirs.users.count, 5);
});

test('another checkout is asked the same as this one, over 64 and over 16 connections', () => {
  const comparisons = listComparisons('checkout', DEMO);
  for (const { ours, theirs } of comparisons) assert.deepEqual(ours, theirs);
  const counts = Map.groupBy(comparisons, ({ ours }) => ours.connections);
  assert.equal(counts.get(64)?.length, counts.get(16)?.length);
});

test('the process behind a port is found', { skip: process.platform !== 'linux' }, async () => {
  const server = createStandInRelay(1).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pid = findListener(port);
  server.close();
  assert.equal(pid, process.pid);
  await once(server, 'close');
  assert.equal(findListener(port), null);
});

test('--against takes a kind and a place', () => {
  assert.deepEqual(readPeerWish('checkout=../old'), { kind: 'checkout', place: '../old' });
  assert.deepEqual(readPeerWish('relay=http://127.0.0.1:6349').kind, 'relay');
  for (const wrong of ['relay', 'relay=', 'relay=6349', 'wrk=http://127.0.0.1:1', 'berth=https://x:1'])
    assert.throws(() => readPeerWish(wrong), /--against/, wrong);
});
