import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from '../../../../src/core/command.ts';
import { GroupCommit } from '../../../../src/store/sqlite/write/group-commit.ts';
import { StoreTally } from '../../../../src/store/store-tally.ts';

const command = { kind: 'collect' } as unknown as Command;

/** Submits a command in each of the next turns of the event loop; returns how large the batches became. */
async function submitInTurns(turns: number, isAlone: boolean): Promise<readonly number[]> {
  const sizes: number[] = [];
  const queue = new GroupCommit(
    (commands) => {
      sizes.push(commands.length);
      const results = commands.map(() => ({ outcome: { kind: 'done', count: 1 } as const }));
      queue.settle(results, null);
    },
    new StoreTally(),
    isAlone,
  );
  const answers: Promise<unknown>[] = [];
  for (let turn = 0; turn < turns; turn++) {
    answers.push(queue.submit(command));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(answers);
  return sizes;
}

test('on a single core, commands that keep coming share a batch, but do not wait for ever', async () => {
  assert.deepEqual(await submitInTurns(3, true), [3]);
  const sizes = await submitInTurns(40, true);
  assert.ok(sizes.length > 2 && Math.max(...sizes) <= 10, `${sizes}`);
});

test('where the writer has a core of its own, it gets at once what there is', async () => {
  assert.deepEqual(await submitInTurns(3, false), [1, 1, 1]);
});
