import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemModuleOf } from './decide-system.ts';
import { NOW } from './examples.ts';

test('the life of the server is recorded as it is told', () => {
  const event = { kind: 'server_started', version: '1.2.3' } as const;
  const command = { kind: 'record_event', event } as const;
  const { outcome, changes, events } = systemModuleOf(command).decide(command, {}, NOW);
  assert.deepEqual([outcome, changes, events], [{ kind: 'done', count: 1 }, [], [event]]);
});
