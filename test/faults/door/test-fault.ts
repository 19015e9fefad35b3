import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { readSeed } from '../../support/random.ts';
import type { Fault, Order } from './fault.ts';
import { findMissing } from './needs.ts';

/** A fault in its small size, and everything that it must find, as tests. `BERTH_SEED` repeats a run. */
export function testFault(fault: Fault): void {
  describe(fault.promise, () => {
    test(`${fault.sizes.small} ${fault.unit}`, async (t) => {
      if (await isImpossible(t, fault)) return;
      const { count, facts, violations } = await fault.run(orderOf(t, fault.sizes.small));
      t.diagnostic(JSON.stringify(facts));
      assert.deepEqual(violations, []);
      assert.ok(count >= fault.sizes.small, `only ${count}`);
    });
    for (const { name, sizes, leastShare, run } of fault.controls ?? []) {
      test(`and it is found if ${name}`, async (t) => {
        if (await isImpossible(t, fault)) return;
        const { count, found } = await run(orderOf(t, sizes.small));
        assert.equal(count, sizes.small);
        assert.ok(found >= leastShare * count, `found ${found} times of ${count}`);
      });
    }
  });
}

async function isImpossible(t: TestContext, fault: Fault): Promise<boolean> {
  const missing = await findMissing(fault);
  if (missing !== null) t.skip(`optional: needs ${missing.name}`);
  return missing !== null;
}

function orderOf(t: TestContext, count: number): Order {
  const seed = readSeed();
  t.diagnostic(`seed ${seed} (BERTH_SEED)`);
  return { count, seed, size: 'small', life: t, say: (line) => t.diagnostic(line) };
}
