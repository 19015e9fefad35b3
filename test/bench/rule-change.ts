import { setImmediate } from 'node:timers/promises';
import type { Store } from '../../packages/server/src/store/store.ts';
import { seed } from './bench-licenses.ts';
import { benchRules } from './bench-rules.ts';
import type { Verdict } from './scenarios.ts';
import { putRules, registerUser } from './seed-store.ts';

const HELD = 100_000;
const PRODUCT = 'ruled';

/** What the store of `waitForChange` is filled with. */
export const CHANGED_SEED = seed(1, PRODUCT, 2 * HELD, HELD);

const MAX_WAIT_MS = 2000;
const CHANGES = 3;

/** How long requests wait at most while new rules are put in force, and 100,000 slots are counted. */
export async function waitForChange(store: Store): Promise<Verdict> {
  const waits: number[] = [];
  for (let change = 0; change < CHANGES; change++) waits.push(await measureChange(store, change));
  const longest = Math.max(...waits);
  return {
    target: 'a change of rules with 100,000 slots held: no request waits for 2 s',
    measured: `${longest.toFixed(0)} ms`,
    isMet: longest < MAX_WAIT_MS,
  };
}

async function measureChange(store: Store, change: number): Promise<number> {
  const { license } = CHANGED_SEED;
  let longestMs = 0;
  let isDone = false;
  const ask = async (user: number) => {
    while (!isDone) {
      const startedMs = performance.now();
      await store.execute(registerUser(license, user));
      longestMs = Math.max(longestMs, performance.now() - startedMs);
      await setImmediate();
    }
  };
  // Some hold a slot, and others take their first one.
  const users = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? index : 2 * HELD + index));
  const asking = users.map(ask);
  const times = { change: { days: [change], from: 0, to: 1, zone: 'UTC' } };
  await putRules(store, { ...benchRules(PRODUCT), times });
  await store.execute({ kind: 'collect', licenseId: license.id });
  isDone = true;
  await Promise.all(asking);
  return longestMs;
}
