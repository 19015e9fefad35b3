import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stretch } from '@berth/server/core/history/slot-points';
import { whatIf } from '@berth/server/core/history/what-if';
import { type Instant, instant } from '@berth/server/core/nouns/instant';
import { createRandom, makeUpSeed, pickNumber, pickOne } from '../support/random.ts';
import { replayNaively } from './naive-what-if.ts';

const MINUTE_MS = 60_000;
const SEED = Number(process.env.BERTH_SEED ?? makeUpSeed());

const at = (minute: number): Instant => instant(minute * MINUTE_MS);

function makeUp(seed: number) {
  const random = createRandom(seed);
  const pick = (from: number, to: number) => pickNumber(random, { from, to });
  const stretches: Stretch[] = [];
  const start = pick(0, 5);
  for (let minute = start; minute < start + 150; ) {
    const to = minute + pickOne(random, [1, 1, 1, 3, 10, 30]);
    stretches.push({ from: at(minute), to: at(to), peak: pick(0, 6), grants: pickOne(random, [0, 0, 1, 3]) });
    minute = to;
  }
  const end = (stretches.at(-1)?.to ?? 0) / MINUTE_MS;
  const denied = Array.from({ length: pick(0, 40) }, () => {
    const first = pick(start, end - 1);
    return {
      who: pickOne(random, ['ada', 'bob', 'eve', 'fay', '']),
      first,
      last: Math.min(end - 1, first + pick(0, 9)),
    };
  });
  return { stretches, denied, start, end, duration: pickOne(random, [1, 2, 7, 20, 200]), slots: pick(1, 5) };
}

test('the what-if curve is that of a replay, minute by minute', (t) => {
  t.diagnostic(`seed ${SEED} (BERTH_SEED)`);
  for (let run = 0; run < 60; run++) {
    const { stretches, denied, start, end, duration, slots } = makeUp(SEED + run);
    const records = denied.map(({ who, first, last }) => ({ who, firstAt: at(first), lastAt: at(last) }));
    const { asked, curve } = whatIf(stretches, records, duration, slots);
    const span = (minute: number) => stretches.find((one) => at(minute) >= one.from && at(minute) < one.to);
    const history = {
      from: start,
      to: end,
      use: (minute: number) => span(minute)?.peak ?? 0,
      grants: stretches.map(({ from, grants }) => ({ minute: from / MINUTE_MS, count: grants })),
      denied,
      duration,
    };
    for (const point of curve) {
      const expected = replayNaively(history, point.slots);
      assert.deepEqual({ asked, ...point }, { slots: point.slots, ...expected }, `seed ${SEED + run}`);
    }
    assert.equal(curve.at(-1)?.denials, 0, 'with enough slots nobody is denied');
    assert.ok(curve.some((point) => point.slots === slots));
  }
});

test('a long history of a large license has a curve of bounded length', () => {
  const stretches = Array.from({ length: 20_000 }, (_, i) => {
    return { from: at(i * 20), to: at(i * 20 + 20), peak: 4000 + (i % 1000), grants: 3 };
  });
  const records = Array.from({ length: 50_000 }, (_, i) => {
    return { who: `user-${i % 3000}`, firstAt: at(i * 8), lastAt: at(i * 8 + 1) };
  });
  const { curve } = whatIf(stretches, records, 90, 5000);
  assert.ok(curve.length <= 62, `${curve.length} points`);
  assert.ok(curve.every((point, i) => i === 0 || point.denials <= (curve[i - 1]?.denials ?? 0)));
});
