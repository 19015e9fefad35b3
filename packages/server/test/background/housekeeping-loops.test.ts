import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { openTestStore } from '../../../../test/support/test-app.ts';
import { testLicense } from '../../../../test/support/test-license.ts';
import {
  createClockKeeper,
  createHistoryThinner,
  createSweeper,
} from '../../src/background/housekeeping-loops.ts';
import { DAY_MS, instant, MINUTE_MS } from '../../src/core/nouns/instant.ts';
import { createHistory, type History } from '../../src/services/history/history.ts';
import { createHousekeeping, type Housekeeping } from '../../src/services/lending/housekeeping.ts';
import { runTaskHere } from '../../src/services/tasks/task.ts';

/** Housekeeping that also reports when a step is done. */
function watch(housekeeping: Housekeeping) {
  const swept = Promise.withResolvers<number>();
  const kept = Promise.withResolvers<void>();
  const watched: Housekeeping = {
    async sweep() {
      const collected = await housekeeping.sweep();
      swept.resolve(collected);
      return collected;
    },
    async keepClock() {
      await housekeeping.keepClock();
      kept.resolve();
    },
  };
  return { watched, swept: swept.promise, kept: kept.promise };
}

test('the sweeper removes what has ended, and logs it', async (t) => {
  const { store, clock } = await openTestStore(t, [testLicense(1)]);
  const host = { hostname: null, address: null, info: null };
  await store.execute({ kind: 'register', product: null, licenseId: null, user: 'ann', host });
  clock.advance(11 * MINUTE_MS);
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line) => lines.push(line) });
  const { watched, swept } = watch(createHousekeeping(store));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sweeper = createSweeper(watched, log, 30);
  sweeper.start();
  t.mock.timers.tick(30_000);
  assert.equal(await swept, 1);
  await sweeper.stop();
  assert.match(lines.join(''), /"collected":1.*ended slots collected/);
});

test('the clock keeper notices a jump', async (t) => {
  const { store, clock } = await openTestStore(t, [testLicense(1)]);
  clock.setWall(instant(clock.readWall() + 60 * MINUTE_MS));
  const { watched, kept } = watch(createHousekeeping(store));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const keeper = createClockKeeper(watched, pino({ level: 'silent' }));
  keeper.start();
  t.mock.timers.tick(1000);
  await kept;
  await keeper.stop();
  const [link] = await store.read({ kind: 'list_audit', chain: 'system', before: null, limit: 1 });
  assert.equal(link?.events[0]?.kind, 'clock_jumped');
});

test('the history is thinned out every ten minutes', async (t) => {
  const { store, clock } = await openTestStore(t, [testLicense(1)]);
  const host = { hostname: null, address: null, info: null };
  await store.execute({ kind: 'register', product: null, licenseId: null, user: 'ann', host });
  clock.advance(9 * DAY_MS);
  const history = createHistory(store, { keepDays: 30 }, runTaskHere);
  const thinned = Promise.withResolvers<number>();
  const watched: History = {
    ...history,
    async thin() {
      const steps = await history.thin();
      thinned.resolve(steps);
      return steps;
    },
  };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const loop = createHistoryThinner(watched, pino({ level: 'silent' }));
  loop.start();
  t.mock.timers.tick(10 * MINUTE_MS);
  assert.equal(await thinned.promise, 1);
  await loop.stop();
  assert.equal(await history.thin(), 0);
});
