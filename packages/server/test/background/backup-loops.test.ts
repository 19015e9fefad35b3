import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { createBackupSchedule, createBackupWatch } from '../../src/background/housekeeping-loops.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/core/nouns/instant.ts';
import type { Backups } from '../../src/services/backups/backups.ts';

test('the schedule is looked at every ten seconds, and watched every minute even if it hangs', async (t) => {
  const calls: string[] = [];
  const hanging = Promise.withResolvers<null>();
  const backups = {
    keepSchedule() {
      calls.push('kept');
      return hanging.promise;
    },
    async watchSchedule() {
      calls.push('watched');
    },
  } as unknown as Backups;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const log = pino({ level: 'silent' });
  const loops = [createBackupSchedule(backups, log), createBackupWatch(backups, log)];
  for (const loop of loops) loop.start();
  t.mock.timers.tick(10 * SECOND_MS);
  assert.deepEqual(calls, ['kept']);
  t.mock.timers.tick(MINUTE_MS);
  assert.deepEqual(calls, ['kept', 'watched']);
  hanging.resolve(null);
  for (const loop of loops) await loop.stop();
});
