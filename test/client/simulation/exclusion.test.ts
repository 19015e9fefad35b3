import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { playForSlot } from './exclusion.ts';
import { playMany } from './play-many.ts';

/** `npm run faults -- client` plays ten thousand. */
const SEEDS = 60;
const SEED = Number(process.env.BERTH_SEED ?? makeUpSeed());

describe('two clients and one slot', () => {
  test('never use it at the same time', async (t) => {
    t.diagnostic(`seed ${SEED}`);
    const { acquired, lost, restored, released } = await playMany(SEED, SEEDS);
    assert.ok(acquired > SEEDS && released > SEEDS, 'both take and return it');
    assert.ok(lost > SEEDS / 2 && restored > SEEDS / 10, 'it gets lost, and comes back');
  });

  test('do so without the margin', async () => {
    let caught = 0;
    for (let seed = 1; seed <= 4 * SEEDS && caught === 0; seed++) {
      await playForSlot(seed, { fixedMs: 0, share: 0 }).catch((error) => {
        assert.match(error.message, /both use the slot/);
        caught = seed;
      });
    }
    assert.notEqual(caught, 0);
  });
});
