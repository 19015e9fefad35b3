import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSeed } from '../../support/random.ts';
import { compareMany } from './compare-many.ts';
import { compareWhole } from './whole-servers.ts';

/** `npm run faults -- lane` sends a million. */
const STREAMS = Number(process.env.BERTH_LANE_STREAMS ?? 700);
const WHOLE = Math.ceil(STREAMS / 10);
const SEED = readSeed();

test('the lane reads what Node reads, answers alike, and leaves everything else to it', async (t) => {
  const say = (text: string) => t.diagnostic(text);
  const { inLane, inNode, dropped } = await compareMany({ seed: SEED, streams: STREAMS, say });
  assert.ok(inLane > STREAMS / 10, 'the lane reads many of them');
  assert.ok(inNode > STREAMS / 10, 'and leaves many to Node');
  assert.ok(dropped < STREAMS / 4, 'most are compared with the very same bytes');
});

test('a whole server with the lane sends, lends and records what it does without it', async (t) => {
  const say = (text: string) => t.diagnostic(text);
  const { inLane, inNode, dropped } = await compareWhole(t, { seed: SEED, streams: WHOLE, say });
  assert.ok(inLane > WHOLE / 10, 'the lane reads many of them');
  assert.ok(inNode > WHOLE / 10, 'and leaves many to Node');
  assert.ok(dropped < WHOLE / 4, 'most are compared with the very same bytes');
});
