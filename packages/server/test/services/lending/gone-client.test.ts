import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWaitingRoom, type Patience } from '../../../src/services/lending/waiting-room.ts';
import type { Store } from '../../../src/store/store.ts';
import { NOW, register } from '../../core/examples.ts';

const SETTINGS = {
  lending: { maxWaiting: 10, holdForRetries: 0 },
  http: { maxConnections: 100, maxConnectionsPerAddress: 100 },
};

test('a client that left the line has waited, so that its request is not logged as slow', async () => {
  const waiting = { kind: 'waiting', product: 'cad', feature: '', user: 'ada', nextEndAt: null, now: NOW };
  const store = { execute: async () => waiting, turns: { listen: () => {} } } as unknown as Store;
  let nowMs = 0;
  const room = createWaitingRoom(store, { settings: { current: SETTINGS }, readMonotonicMs: () => nowMs });
  const client: Patience['client'] = { isGone: false, onGone: null };
  const patience: Patience = { forMs: 30_000, client, isApplied: false, since: null, waitedMs: 0 };
  const answer = room.execute(register('ada'), patience);
  await new Promise(setImmediate);
  nowMs = 3000;
  client.onGone?.();
  const outcome = await answer;
  assert.ok(outcome.kind === 'refused' && outcome.code === 'bad_request');
  assert.deepEqual([patience.isApplied, patience.waitedMs, room.count()], [true, 3000, 0]);
});
