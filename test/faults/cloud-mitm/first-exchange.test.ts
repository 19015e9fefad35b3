import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { type Case, listCases } from './first-exchange.ts';
import { listPortalCases } from './first-form.ts';

/** `npm run faults -- first-exchange` changes every place; the suite a few, and those that matter most. */
const IS_WHOLE = process.env.BERTH_ALL_FAULTS !== undefined;
const STRIDE = 60;
const ALWAYS = /request: (Berth-\S+ (replaced|removed)|"(hardware_id|license_key|grant_key)" replaced)/i;

function choose(cases: readonly Case[]): readonly Case[] {
  if (IS_WHOLE) return cases;
  const telling = cases.filter(({ name }) => ALWAYS.test(name));
  return [...new Set([...telling, ...cases.filter((_, at) => at % STRIDE === 0)])];
}

async function walk(cases: readonly Case[]): Promise<void> {
  const violations: string[] = [];
  for (const { name, run } of cases) {
    for (const what of await run()) violations.push(`${name}: ${what}`);
  }
  assert.deepEqual(violations, []);
}

describe('a man in the middle of a first exchange who changes any header or field', () => {
  test('of an activation or a check: it is refused, or has no effect', async (t) => {
    const cases = await listCases({ after }, await startCloudProcess({ after }));
    const chosen = choose(cases);
    t.diagnostic(JSON.stringify({ cases: chosen.length }));
    assert.ok(cases.length > 300, `${cases.length} places are few`);
    await walk(chosen);
  });

  test('of a form at the portal: it is refused, or has no effect', async (t) => {
    const cases = await listPortalCases(t);
    const chosen = choose(cases);
    t.diagnostic(JSON.stringify({ cases: chosen.length }));
    assert.ok(cases.length > 100, `${cases.length} places are few`);
    await walk(chosen);
  });
});
