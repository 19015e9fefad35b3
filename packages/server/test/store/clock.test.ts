import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClock } from '../../src/store/clock.ts';

/** A machine whose clocks are moved by hand. */
function makeMachine() {
  const machine = { wallMs: 1e12, runningMs: 500, uptimeMs: 90_000, looks: 0 };
  const clock = createClock({
    readWallMs: () => machine.wallMs,
    readRunningMs: () => machine.runningMs,
    readUptimeMs() {
      machine.looks += 1;
      // As on systems that tell whole seconds.
      return Math.floor(machine.uptimeMs / 1000) * 1000;
    },
  });
  function pass(millis: number): void {
    machine.wallMs += millis;
    machine.runningMs += millis;
    machine.uptimeMs += millis;
  }
  function sleep(millis: number): void {
    machine.wallMs += millis;
    machine.uptimeMs += millis;
  }
  return { machine, clock, pass, sleep };
}

describe('monotonic time', () => {
  test('counts the time that the machine slept', () => {
    const { clock, pass, sleep } = makeMachine();
    const startMs = clock.readMonotonicMs();
    pass(700);
    sleep(65_000);
    assert.ok(Math.abs(clock.readMonotonicMs() - startMs - 65_700) < 1000, 'which is told in whole seconds');
    pass(300);
    sleep(3_600_000);
    pass(1);
    assert.ok(Math.abs(clock.readMonotonicMs() - startMs - 3_666_001) < 1000);
  });

  test('does not follow a date that was set', () => {
    const { machine, clock, pass } = makeMachine();
    const startMs = clock.readMonotonicMs();
    machine.wallMs += 86_400_000;
    pass(5);
    assert.equal(clock.readMonotonicMs() - startMs, 5);
    machine.wallMs -= 172_800_000;
    pass(5);
    assert.equal(clock.readMonotonicMs() - startMs, 10);
  });

  test('asks for the uptime only when the wall clock has moved', () => {
    const { machine, clock, pass, sleep } = makeMachine();
    for (let reading = 0; reading < 1000; reading++) {
      pass(1000);
      clock.readMonotonicMs();
    }
    assert.equal(machine.looks, 1, 'at first');
    sleep(10_000);
    for (let reading = 0; reading < 1000; reading++) clock.readMonotonicMs();
    assert.equal(machine.looks, 2);
  });
});
