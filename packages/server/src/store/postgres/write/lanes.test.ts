import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../../core/command.ts';
import { register } from '../../../core/examples.ts';
import type { Executed } from '../../store.ts';
import { StoreTally } from '../../store-tally.ts';
import { Lanes } from './lanes.ts';

const scopeIn = () => ({ server: false, licenses: [] });
const done: Executed = { kind: 'done', count: 1 };

test('commands of another lane run there, and the rest of the batch only once', async () => {
  let lane = 'old';
  const executed: string[] = [];
  const lanes = new Lanes({
    route: () => ({ name: lane, scopeIn }),
    async execute({ name }, commands) {
      lane = 'new';
      return commands.map((command: Command, index) => {
        if (name === 'old' && index > 0) return 'other_lane';
        executed.push(`${name} ${(command as ReturnType<typeof register>).user}`);
        return { outcome: done };
      });
    },
    maxBatch: 10,
    tally: new StoreTally(),
  });
  await Promise.all(['ada', 'bob', 'eve'].map((user) => lanes.submit(register(user))));
  assert.deepEqual(executed, ['old ada', 'new bob', 'new eve']);
});

test('a command that keeps changing lanes fails', async () => {
  let moves = 0;
  const lanes = new Lanes({
    route: () => ({ name: `lane ${++moves}`, scopeIn }),
    execute: async (_, commands) => commands.map(() => 'other_lane'),
    maxBatch: 10,
    tally: new StoreTally(),
  });
  await assert.rejects(lanes.submit(register('ada')), {
    code: 'store_unavailable',
    message: /change too often/,
  });
  assert.equal(moves, 11);
  await lanes.drain();
});
