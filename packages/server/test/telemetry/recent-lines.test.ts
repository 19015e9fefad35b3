import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecentLines } from '../../src/telemetry/recent-lines.ts';

test('the newest lines are kept, the oldest first', () => {
  const recent = createRecentLines();
  assert.deepEqual(recent.list(), []);
  for (let n = 0; n < 1203; n++) recent.keep(`{"n":${n}}`);
  const kept = recent.list().map((line) => JSON.parse(line).n);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [500, 703, 1202]);
});

test('a long line is shortened, and stays JSON', () => {
  const recent = createRecentLines();
  recent.keep(JSON.stringify({ level: 'error', time: 't', detail: 'x'.repeat(10_000), msg: 'bug' }));
  assert.deepEqual(JSON.parse(recent.list()[0] ?? ''), {
    level: 'error',
    time: 't',
    msg: 'bug',
    shortened: true,
  });
});
