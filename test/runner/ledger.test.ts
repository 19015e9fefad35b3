import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import { formatCounts, Ledger } from './ledger.ts';
import { reportCompactly } from './reporter.ts';

const FILE = '/a.test.ts';

/** The runner's events, as far as the ledger reads them. */
function makeEvent(type: TestEvent['type'], data: object): TestEvent {
  return { type, data: { file: FILE, entryFile: FILE, line: 1, ...data } } as TestEvent;
}

function start(testId: number, name: string, parentId = 0): TestEvent {
  return makeEvent('test:start', { testId, name, parentId });
}

function pass(testId: number, data: object = {}): TestEvent {
  return makeEvent('test:pass', { testId, details: { type: 'test', duration_ms: 1 }, ...data });
}

function fail(testId: number, failureType: string, data: object = {}): TestEvent {
  const error = { failureType, cause: new Error('broken') };
  return makeEvent('test:fail', { testId, details: { duration_ms: 1, error }, ...data });
}

function summarize(): TestEvent {
  return makeEvent('test:summary', { duration_ms: 1 });
}

async function* replay(events: TestEvent[]): AsyncGenerator<TestEvent> {
  yield* events;
}

async function reportAll(events: TestEvent[], skipsFail = false) {
  const ledger = new Ledger({ skipsFail });
  const text = (await Array.fromAsync(reportCompactly(replay(events), ledger))).join('');
  return { ledger, text, counts: formatCounts(ledger.counts) };
}

describe('what counts', () => {
  test('a leaf counts, but not a suite around it or a test with tests inside', async () => {
    const events = [start(1, 'a'), start(2, 'b', 1), start(3, 'c', 2), pass(3), pass(2)];
    const suite = pass(1, { details: { type: 'suite', duration_ms: 1 } });
    assert.equal((await reportAll([...events, suite])).counts, '1 passed, 0 failed');
  });

  test('a failure counts once, under its full name and with its stack', async () => {
    const events = [start(1, 'a'), start(2, 'b', 1), fail(2, 'testCodeFailure'), fail(1, 'subtestsFailed')];
    const { counts, text } = await reportAll(events);
    assert.equal(counts, '0 passed, 1 failed');
    assert.match(text, /FAIL a > b\n.*a\.test\.ts:1\n {4}Error: broken\n {8}at /);
  });

  test('a test which fails although the tests inside pass counts as failed', async () => {
    const events = [start(1, 'a'), start(2, 'b', 1), pass(2), fail(1, 'hookFailed')];
    assert.equal((await reportAll(events)).counts, '1 passed, 1 failed');
  });

  test('a file which fails apart from its tests counts as failed', async () => {
    const events = [start(1, 'a'), pass(1), summarize(), fail(9, 'x', { entryFile: undefined })];
    assert.equal((await reportAll(events)).counts, '1 passed, 1 failed');
  });

  test('a file which reported nothing is silent, even if the runner calls it passed', async () => {
    const { ledger, counts } = await reportAll([pass(9, { entryFile: undefined })]);
    assert.deepEqual(ledger.listSilent([FILE]), [FILE]);
    assert.equal(counts, '0 passed, 0 failed');
    assert.deepEqual((await reportAll([summarize()])).ledger.listSilent([FILE]), []);
  });
});

describe('skips', () => {
  const skips = [
    start(1, 'a'),
    pass(1, { skip: 'no disk' }),
    start(2, 'b'),
    pass(2, { skip: 'optional: c' }),
  ];

  test('count as skipped and are listed with their reason', async () => {
    const { counts, text } = await reportAll(skips);
    assert.equal(counts, '0 passed, 0 failed, 2 skipped');
    assert.match(text, /^skip a: no disk$/m);
  });

  test('count as failed in CI, unless they are optional', async () => {
    const { counts, text } = await reportAll(skips, true);
    assert.equal(counts, '0 passed, 1 failed, 1 skipped');
    assert.match(text, /counts as failed in CI: no disk/);
  });

  for (const tool of ['curl', 'Chromium']) {
    test(`count as failed in CI where ${tool} is all that is missing`, async () => {
      const events = [start(1, 'a'), pass(1, { skip: `optional: needs ${tool}` })];
      assert.equal((await reportAll(events, true)).counts, '0 passed, 1 failed');
      assert.equal((await reportAll(events)).counts, '0 passed, 0 failed, 1 skipped');
    });
  }

  test('a failing test still to be written counts as a skip', async () => {
    const events = [start(1, 'a'), fail(1, 'testCodeFailure', { todo: true })];
    assert.equal((await reportAll(events)).counts, '0 passed, 0 failed, 1 skipped');
  });
});

describe('the compact report', () => {
  test('has one line for each file', async () => {
    const { text } = await reportAll([start(1, 'a'), pass(1), summarize()]);
    assert.match(text, /^ok {3}.*a\.test\.ts: 1 passed, 0 failed \(0\.0 s\)\n$/);
  });

  test('shows seeds, and no other diagnostics', async () => {
    const events = ['seed 7', 'duration 3'].map((message) => makeEvent('test:diagnostic', { message }));
    assert.match((await reportAll(events)).text, /^note .*: seed 7\n$/);
  });

  test('shows what a file printed only if it failed', async () => {
    const print = makeEvent('test:stdout', { message: 'hello\n' });
    const passing = await reportAll([print, start(1, 'a'), pass(1), summarize()]);
    const failing = await reportAll([print, start(1, 'a'), fail(1, 'testCodeFailure'), summarize()]);
    assert.doesNotMatch(passing.text, /hello/);
    assert.match(failing.text, /printed:\n {4}hello\n/);
  });
});
