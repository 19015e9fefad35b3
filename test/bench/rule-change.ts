import { setImmediate } from 'node:timers/promises';
import type { LicenseId } from '../../packages/server/src/core/nouns/license.ts';
import type { RuleSet } from '../../packages/server/src/core/rules/rule-set.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { registerUser, type Seed } from './seed-store.ts';

/** How long requests wait at most while new rules are put in force, and all slots are counted. */
export async function waitForChange(store: Store, { license, held }: Seed, rules: RuleSet): Promise<number> {
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
  // Some renew a slot, some take one, and take it again.
  const asking = Array.from({ length: 8 }, (_, index) => ask(index % 2 === 0 ? 2 * index : 2 * held + index));
  await store.execute({ kind: 'set_rules', text: JSON.stringify(rules), rules, by: 'bench' });
  await collect(store, license.id);
  for (let user = 0; user < 20; user++) await store.execute(registerUser(license, 2 * held + 101 + user));
  isDone = true;
  await Promise.all(asking);
  return longestMs;
}

async function collect(store: Store, licenseId: LicenseId): Promise<void> {
  await store.execute({ kind: 'collect', licenseId });
}
