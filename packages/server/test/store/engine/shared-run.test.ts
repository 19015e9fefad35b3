import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SharedRun } from '../../../src/store/engine/shared-run.ts';

/** Runs that end when the test says so, or when they are canceled. */
function openRuns() {
  const runs: { readonly end: (value: number) => void; readonly signal: AbortSignal }[] = [];
  const shared = new SharedRun<number>((signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    signal.addEventListener('abort', () => reject(signal.reason));
    if (signal.aborted) reject(signal.reason);
    runs.push({ end: resolve, signal });
    return promise;
  });
  return { shared, runs };
}

describe('work that several want at once', () => {
  test('runs once at a time; callers that arrive meanwhile share the next run', async () => {
    const { shared, runs } = openRuns();
    const first = shared.ask();
    const [second, third] = [shared.ask(), shared.ask(new AbortController().signal)];
    runs[0]?.end(1);
    assert.equal(await first, 1);
    runs[1]?.end(2);
    assert.deepEqual(await Promise.all([second, third]), [2, 2]);
    assert.equal(runs.length, 2);
  });

  test('is canceled when all callers have gone, and not before', async () => {
    const { shared, runs } = openRuns();
    const [ann, bob] = [new AbortController(), new AbortController()];
    const running = shared.ask();
    const asked = [shared.ask(ann.signal), shared.ask(bob.signal)];
    runs[0]?.end(1);
    await running;
    ann.abort();
    await assert.rejects(asked[0] as Promise<number>, /Nobody waits/);
    assert.equal(runs[1]?.signal.aborted, false, 'bob still waits');
    bob.abort();
    await assert.rejects(asked[1] as Promise<number>, /Nobody waits/);
    assert.equal(runs[1]?.signal.aborted, true);
    await shared.settle();
    const next = shared.ask();
    runs[2]?.end(3);
    assert.equal(await next, 3);
  });

  test('continues for a caller that cannot leave', async () => {
    const { shared, runs } = openRuns();
    const kept = shared.ask();
    const gone = new AbortController();
    const late = shared.ask(gone.signal);
    gone.abort();
    await assert.rejects(late);
    assert.equal(runs[0]?.signal.aborted, false);
    runs[0]?.end(7);
    assert.equal(await kept, 7);
  });
});
