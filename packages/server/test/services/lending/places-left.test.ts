import assert from 'node:assert/strict';
import { mock, type TestContext, test } from 'node:test';
import type { Command } from '../../../src/core/command.ts';
import { SECOND_MS } from '../../../src/core/nouns/instant.ts';
import { refuse } from '../../../src/core/outcome.ts';
import { createWaitingRoom } from '../../../src/services/lending/waiting-room.ts';
import type { Store } from '../../../src/store/store.ts';
import { NOW, register } from '../../core/examples.ts';

/** What is under way without a timer has ended when this resolves. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const LENDING = { maxWaiting: 10, holdForRetries: 0 };
const HTTP = { maxConnections: 100, maxConnectionsPerAddress: 100 };

/** One client waits in vain. Returns what the store was asked. `countOthers`: by the number of looks. */
async function waitInVain(
  t: TestContext,
  countOthers: (looks: number) => number,
): Promise<readonly string[]> {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const sent: string[] = [];
  const execute = async (command: Command) => {
    const mode = command.kind === 'register' ? command.wait?.mode : undefined;
    sent.push(mode ?? command.kind);
    if (mode === 'last') return refuse('floating_not_available', 'All slots are in use.');
    const at = { nextEndAt: null, now: NOW };
    return mode === 'stay'
      ? { kind: 'waiting', product: 'cad', feature: '', user: 'ada', ...at }
      : { kind: 'handed_on', lent: [], waiting: countOthers(sent.length - 2), ...at };
  };
  let nowMs = 0;
  const room = createWaitingRoom({ execute, turns: { listen: () => {} } } as unknown as Store, {
    settings: { current: { lending: LENDING, http: HTTP } },
    readMonotonicMs: () => nowMs,
  });
  const pass = async (ms: number) => {
    nowMs += ms;
    mock.timers.tick(ms);
    await settle();
  };
  const client = { isGone: false, onGone: null };
  const forMs = SECOND_MS / 2;
  const answer = room.execute(register('ada'), { forMs, client, isApplied: false, since: null, waitedMs: 0 });
  await settle();
  await pass(forMs);
  assert.equal((await answer).kind, 'refused');
  for (let seconds = 0; seconds < 30; seconds++) await pass(SECOND_MS);
  return sent;
}

test('who has left is looked after until their place is gone', async (t) => {
  const sent = await waitInVain(t, (looks) => (looks < 4 ? 1 : 0));
  assert.deepEqual(sent, ['stay', 'last', 'hand_on', 'hand_on', 'hand_on', 'hand_on']);
});

test('those who wait on other servers are looked after by these', async (t) => {
  assert.equal((await waitInVain(t, () => 1)).length, 2 + 16);
});
