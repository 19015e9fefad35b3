import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createDeliveries,
  createFeedBeats,
  createFeedPolls,
  createNoticeRounds,
} from '../../src/background/event-loops.ts';
import type { Deliveries } from '../../src/services/events/deliveries.ts';
import type { EventFeed } from '../../src/services/events/event-feed.ts';
import { createQuietLog } from '../../src/telemetry/log.ts';

test('each loop has its own interval', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const done = { poll: 0, beat: 0, look: 0, deliver: 0 };
  const count = (name: keyof typeof done) => async () => {
    done[name] += 1;
    return 0;
  };
  const log = createQuietLog();
  const feed = { poll: count('poll'), beat: count('beat') } as unknown as EventFeed;
  const loops = [
    createFeedPolls(feed, log),
    createFeedBeats(feed, log),
    createNoticeRounds({ look: count('look') }, log),
    createDeliveries({ deliver: count('deliver') } as unknown as Deliveries, log),
  ];
  for (const loop of loops) loop.start();
  for (let step = 0; step < 120; step++) {
    t.mock.timers.tick(500);
    await new Promise(setImmediate);
  }
  assert.deepEqual(done, { poll: 120, beat: 4, look: 1, deliver: 120 });
  for (const loop of loops) await loop.stop();
});
