import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { plus } from '../../../../src/core/nouns/instant.ts';
import { Recovery } from '../../../../src/store/sqlite/write/recovery.ts';
import { NOW } from '../../../core/examples.ts';

describe('a file whose commits fail', () => {
  const isDue = (recovery: Recovery, nowMs: number) => {
    try {
      recovery.requireDue(nowMs);
      return true;
    } catch {
      return false;
    }
  };

  test('is opened again at once, then less and less often, and at least every second', () => {
    const recovery = new Recovery('berth.db');
    recovery.noteFailure(0);
    assert.ok(isDue(recovery, 0));
    let nowMs = 0;
    const rests: number[] = [];
    for (let attempt = 0; attempt < 9; attempt++) {
      recovery.noteFailure(nowMs);
      const failedMs = nowMs;
      while (!isDue(recovery, nowMs)) nowMs += 10;
      rests.push(nowMs - failedMs);
    }
    assert.deepEqual(rests, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
    recovery.failures = 0;
    recovery.noteFailure(nowMs);
    assert.ok(isDue(recovery, nowMs), 'a single one again');
  });

  test('must hold what was acknowledged, and may hold the commit that failed', () => {
    const recovery = new Recovery('/data/berth.db');
    recovery.acknowledged = { links: 7, mark: NOW };
    recovery.requireAcknowledged(7, NOW);
    recovery.requireAcknowledged(7, plus(NOW, 1));
    recovery.requireAcknowledged(8, plus(NOW, -1));
    for (const [links, mark] of [
      [6, plus(NOW, 1)],
      [7, plus(NOW, -1)],
      [7, null],
    ] as const) {
      assert.throws(() => recovery.requireAcknowledged(links, mark), /\/data\/berth\.db is damaged/);
    }
  });
});
