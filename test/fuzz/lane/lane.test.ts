import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { compareMany } from './compare-many.ts';

/** `npm run faults -- lane` sends a million. */
const STREAMS = Number(process.env.BERTH_LANE_STREAMS ?? 3000);
const SEED = Number(process.env.BERTH_SEED ?? makeUpSeed());

test('the lane reads what Node reads, answers alike, and leaves everything else to it', async (t) => {
  const say = (text: string) => t.diagnostic(text);
  const { inLane, inNode, dropped } = await compareMany({ seed: SEED, streams: STREAMS, say });
  assert.ok(inLane > STREAMS / 10, 'the lane reads many of them');
  assert.ok(inNode > STREAMS / 10, 'and leaves many to Node');
  assert.ok(dropped < STREAMS / 4, 'most are compared with the very same bytes');
});
