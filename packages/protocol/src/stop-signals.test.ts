import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { waitForStop } from './stop-signals.ts';

function createSource() {
  const exits: number[] = [];
  const source = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
  const time = { ms: 1000 };
  return { source, exits, time, wait: () => waitForStop(source, () => time.ms) };
}

for (const [signal, code] of [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} stops, and a second one ends it at once with ${code}`, async () => {
    const { source, exits, time, wait } = createSource();
    const stopped = wait();
    source.emit(signal);
    await stopped;
    time.ms += 499;
    source.emit(signal);
    assert.deepEqual(exits, [], 'the same Ctrl-C, sent by the terminal and by npm');
    time.ms += 1;
    source.emit(signal);
    assert.deepEqual(exits, [code]);
  });
}

test('a hangup that somebody has taken does not stop', () => {
  const { source, wait } = createSource();
  source.on('SIGHUP', () => {});
  wait();
  assert.deepEqual(
    ['SIGHUP', 'SIGINT', 'SIGTERM'].map((signal) => source.listenerCount(signal)),
    [1, 1, 1],
  );
});
