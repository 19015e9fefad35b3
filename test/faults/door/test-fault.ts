import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readSeed } from '../../support/random.ts';
import type { Fault, Order } from './fault.ts';
import { findMissing } from './needs.ts';

/** A fault in its small size as a test. `npm run faults` adds its controls; `BERTH_SEED` repeats a run. */
export function testFault(fault: Fault): void {
  test(`${fault.promise} (${fault.sizes.small} ${fault.unit})`, async (t) => {
    const missing = await findMissing(fault);
    if (missing !== null) return t.skip(`optional: needs ${missing.name}`);
    const { count, facts, violations } = await fault.run(orderOf(t, fault.sizes.small));
    t.diagnostic(JSON.stringify(facts));
    assert.deepEqual(violations, []);
    assert.ok(count >= fault.sizes.small, `only ${count}`);
  });
}

function orderOf(t: TestContext, count: number): Order {
  const seed = readSeed();
  t.diagnostic(`seed ${seed} (BERTH_SEED)`);
  return { count, seed, size: 'small', life: t, say: (line) => t.diagnostic(line) };
}
