import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import { waitForStop } from '../../src/console/stop-signals.ts';

function createSource(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const exits: number[] = [];
  const source = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
  return { source, exits, pass: (ms: number) => t.mock.timers.tick(ms) };
}

for (const [signal, code] of [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} stops, and a second one ends it at once with ${code}`, async (t) => {
    const { source, exits, pass } = createSource(t);
    const stopped = waitForStop(source);
    source.emit(signal);
    await stopped;
    pass(499);
    source.emit(signal);
    assert.deepEqual(exits, [], 'the same Ctrl-C, sent by the terminal and by npm');
    pass(1);
    source.emit(signal);
    assert.deepEqual(exits, [code]);
  });
}

test('a hangup that is handled elsewhere does not stop', (t) => {
  const { source } = createSource(t);
  source.on('SIGHUP', () => {});
  waitForStop(source);
  assert.deepEqual(
    ['SIGHUP', 'SIGINT', 'SIGTERM'].map((signal) => source.listenerCount(signal)),
    [1, 1, 1],
  );
});
