import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { licenseId } from '../../../../src/core/nouns/license.ts';
import { type LaneResult, Lanes, type SharedCommands } from '../../../../src/store/postgres/write/lanes.ts';
import type { QueuedCommand } from '../../../../src/store/postgres/write/scope.ts';
import type { Executed } from '../../../../src/store/store.ts';
import { StoreTally } from '../../../../src/store/store-tally.ts';
import { register } from '../../../core/examples.ts';

const scopeIn = () => ({ server: false, licenses: [] });
const done: Executed = { kind: 'done', count: 1 };
const collect = (id: number) => ({ kind: 'collect', licenseId: licenseId(id) }) as const;

type Command = QueuedCommand['command'];

function productOf(command: Command): string {
  return 'product' in command ? String(command.product) : 'none';
}

interface Trial {
  readonly lanes: Lanes;
  /** The commands of each transaction, as `lane user`. */
  readonly batches: string[][];
}

/** Lanes named after products, and transactions that do what they are told. */
function tryLanes(
  execute: (
    commands: SharedCommands,
    names: string[],
  ) => Promise<readonly LaneResult[] | 'apart' | undefined>,
  { maxBatch = 10, hasRival = false } = {},
): Trial {
  const batches: string[][] = [];
  const lanes = new Lanes({
    route: (command) => ({ name: productOf(command), scopeIn }),
    async execute(commands) {
      const list = () => commands.queued.map(nameOf);
      batches.push(list());
      const results = await execute(commands, list());
      batches[batches.length - 1] = list();
      return results ?? commands.queued.map(() => ({ outcome: done }));
    },
    hasRival: () => hasRival,
    maxBatch,
    tally: new StoreTally(),
  });
  return { lanes, batches };
}

function nameOf({ command, lane }: QueuedCommand): string {
  return `${lane.name} ${'user' in command ? command.user : command.kind}`;
}

test('commands of another lane run there, and the rest of the batch only once', async () => {
  let lane = 'old';
  const executed: string[] = [];
  const lanes = new Lanes({
    route: () => ({ name: lane, scopeIn }),
    async execute({ queued }) {
      lane = 'new';
      return queued.map((one, index) => {
        if (one.lane.name === 'old' && index > 0) return 'other_lane';
        executed.push(nameOf(one));
        return { outcome: done };
      });
    },
    hasRival: () => false,
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
    execute: async ({ queued }) => queued.map(() => 'other_lane'),
    hasRival: () => false,
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

test('a command that stays in its lane while others move does not fail', async () => {
  let rounds = 0;
  const { lanes } = tryLanes(async ({ queued }) =>
    ++rounds > 20 ? queued.map(() => ({ outcome: done })) : queued.map(() => 'again'),
  );
  assert.deepEqual(await lanes.submit(register('ada')), done);
});

test('what clients ask for shares a transaction, one at a time', async () => {
  let running = 0;
  const { lanes, batches } = tryLanes(async () => {
    assert.equal(++running, 1);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return undefined;
  });
  const ask = (user: string, product: string) => lanes.submit(register(user, { product }));
  await Promise.all([ask('ada', 'cad'), ask('bob', 'cam'), ask('eve', 'cad')]);
  await Promise.all([ask('ada', 'cae')]);
  assert.deepEqual(batches, [['cad ada', 'cam bob', 'cad eve'], ['cae ada']]);
});

test('whoever waits longest is first when a transaction is full', async () => {
  const { lanes, batches } = tryLanes(async () => undefined, { maxBatch: 2 });
  const ask = (user: string, product: string) => lanes.submit(register(user, { product }));
  await Promise.all([
    ask('u1', 'cad'),
    ask('u2', 'cad'),
    ask('u3', 'cad'),
    ask('u4', 'cam'),
    ask('u5', 'cad'),
  ]);
  assert.deepEqual(batches, [['cad u1', 'cad u2'], ['cad u3', 'cam u4'], ['cad u5']]);
});

test('other work has a transaction of its own and is not overtaken in its lane', async () => {
  const open = Promise.withResolvers<void>();
  const { lanes, batches } = tryLanes(async (_, names) => {
    if (names.includes('none collect')) await open.promise;
    return undefined;
  });
  const slow = [lanes.submit(collect(1)), lanes.submit(register('ada', { product: 'none' }))];
  await lanes.submit(register('bob', { product: 'cad' }));
  await lanes.submit(register('eve', { product: 'cad' }));
  assert.deepEqual(batches, [['none collect', 'none ada'], ['cad bob'], ['cad eve']]);
  open.resolve();
  await Promise.all(slow);
});

test('a shared transaction that fails is split, and one lane that hangs stops no other', async () => {
  const open = Promise.withResolvers<void>();
  const { lanes, batches } = tryLanes(async ({ queued }, names) => {
    if (new Set(queued.map(({ lane }) => lane.name)).size > 1) return 'apart';
    if (names.includes('cad ada')) await open.promise;
    if (names.includes('cae eve')) throw new Error('fails alone');
    return undefined;
  });
  const ask = (user: string, product: string) => lanes.submit(register(user, { product }));
  const hanging = ask('ada', 'cad');
  const failing = assert.rejects(ask('eve', 'cae'), /fails alone/);
  assert.deepEqual(await ask('bob', 'cam'), done);
  await failing;
  assert.deepEqual(await ask('cyd', 'cam'), done);
  const behind = ask('dan', 'cad');
  assert.deepEqual(await ask('fay', 'cam'), done);
  assert.equal(batches.flat().includes('cad dan'), false, 'it waits for its lane');
  open.resolve();
  assert.deepEqual(await Promise.all([hanging, behind]), [done, done]);
  await lanes.drain();
});

test('those who come while the locks are waited for join, in their order', async () => {
  const begun = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  let isFirst = true;
  const { lanes, batches } = tryLanes(async ({ takeLate }) => {
    if (!isFirst) return undefined;
    isFirst = false;
    begun.resolve();
    await locked.promise;
    assert.deepEqual(takeLate().map(nameOf), ['cad bob', 'cad cyd']);
    return undefined;
  });
  const ask = (user: string, product: string) => lanes.submit(register(user, { product }));
  const asked = [ask('ada', 'cad')];
  await begun.promise;
  asked.push(ask('bob', 'cad'), ask('eve', 'cam'), ask('cyd', 'cad'));
  locked.resolve();
  await Promise.all(asked);
  assert.deepEqual(batches, [['cad ada', 'cad bob', 'cad cyd'], ['cam eve']]);
});

describe('beside another server on the same licenses', () => {
  async function answerAll(t: TestContext, users: readonly string[]) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { lanes, batches } = tryLanes(async () => undefined, { hasRival: true });
    const ask = (user: string) => lanes.submit(register(user, { product: 'cad' }));
    await Promise.all(users.map(ask));
    return { batches, ask };
  }

  test('a batch waits for those who were answered last', async (t) => {
    const { batches, ask } = await answerAll(t, ['ada', 'bob', 'cyd']);
    const first = ask('ada');
    await nextTurn();
    await nextTurn();
    await Promise.all([first, ask('bob'), ask('cyd')]);
    const all = ['cad ada', 'cad bob', 'cad cyd'];
    assert.deepEqual(batches, [all, all]);
  });

  test('but not long', async (t) => {
    const { batches, ask } = await answerAll(t, ['ada', 'bob', 'cyd']);
    const first = ask('ada');
    await nextTurn();
    assert.equal(batches.length, 1);
    t.mock.timers.tick(1);
    await first;
    assert.deepEqual(batches.at(-1), ['cad ada']);
  });
});
