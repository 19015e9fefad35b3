import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from './commands.ts';

const callOf = (words: string) => `./berth ${words}`;

for (const [direction, advice] of [
  ['ahead', 'If the wall clock is right, run "./berth clock accept".'],
  ['behind', 'If the clock was wrong before and is right now, run "./berth clock reset".'],
] as const) {
  test(`a clock that jumped ${direction} is shown with what to do`, () => {
    const clock = {
      server_at: '2026-11-15T12:00:00.000Z',
      wall_at: '2026-11-15T13:00:00.000Z',
      ahead_ms: 0,
      jump: { direction, seen_at: '2026-11-15T12:00:00.000Z' },
      jump_at_start: null,
    };
    assert.ok(show('clock', clock).endsWith(`\n${advice}`));
    assert.ok(show('status', { version: '1', clock }).endsWith(`\n${advice}`));
  });
}

function show(words: string, body: object): string {
  const command = COMMANDS.find((one) => one.words === words);
  assert.ok(command !== undefined && 'show' in command);
  return command.show(body as never, callOf);
}
