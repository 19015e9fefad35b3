import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { Durations } from './durations.ts';
import { Progress } from './progress.ts';

function durationsFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-runner-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'deep', 'durations.json');
}

function event(type: 'test:dequeue' | 'test:complete', name: string, entryFile?: string, passed = true) {
  return { type, data: { name, entryFile, details: { passed, type: 'test' } } } as unknown as TestEvent;
}

test('the slowest files come first, by their last run, and those that start processes before others', (t) => {
  const file = durationsFile(t);
  const first = new Durations(file);
  first.note('/b.test.ts', 20_000);
  first.note('/a.test.ts', 500);
  first.save();
  const sorted = new Durations(file).sort([
    '/a.test.ts',
    '/new.test.ts',
    '/test/e2e/new.test.ts',
    '/b.test.ts',
  ]);
  assert.deepEqual(sorted, ['/b.test.ts', '/test/e2e/new.test.ts', '/new.test.ts', '/a.test.ts']);
});

test('progress counts files and failures, and shows what is left', (t) => {
  let nowMs = 0;
  const durations = new Durations(durationsFile(t));
  const files = ['/a', '/b', '/c'];
  for (const file of files) durations.note(file, 10_000);
  const progress = new Progress({ files, concurrency: 2, durations, readMs: () => nowMs });
  assert.equal(progress.format(), '0/3 files, 0 s, about 15 s left');
  for (const file of ['/a', '/b']) progress.record(event('test:dequeue', file));
  nowMs = 6000;
  progress.record(event('test:complete', 'a test', '/a', false));
  progress.record(event('test:complete', '/a'));
  assert.equal(progress.format(), '1/3 files, 1 failed, 6 s, about 10 s left');
  assert.equal(durations.estimate('/a'), 6000);
});
