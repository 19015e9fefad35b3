import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Stretch, stretchesOf } from '@berth/server/core/history/slot-points';
import { whatIf } from '@berth/server/core/history/what-if';
import { type Instant, instant } from '@berth/server/core/nouns/instant';
import { createRandom, pickNumber, pickOne, readSeed } from '../support/random.ts';
import { replayNaively } from './naive-what-if.ts';

const MINUTE_MS = 60_000;
const SEED = readSeed();

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
    const { asked, enough, curve } = whatIf(stretches, records, duration, slots);
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
    assert.equal(replayNaively(history, enough).denials, 0, 'with enough slots nobody is denied');
    if (enough > 0) assert.ok(replayNaively(history, enough - 1).denials > 0, 'and one less is not enough');
    assert.equal(curve.at(-1)?.slots, Math.max(slots, enough), 'the curve ends there');
    assert.ok(curve.some((point) => point.slots === slots));
  }
});

test('nobody waits after they have asked for the last time', () => {
  const full = [{ from: at(0), to: at(5000), peak: 1, grants: 1 }];
  const records = [
    { who: 'ada', firstAt: at(10), lastAt: at(10) },
    { who: 'bob', firstAt: at(20), lastAt: at(24) },
  ];
  const waited = whatIf(full, records, 60, 1).curve.find(({ slots }) => slots === 1)?.waitingMs;
  assert.equal(waited, (1 + 5) * MINUTE_MS);
  const later = whatIf([{ ...(full[0] as Stretch), to: at(9000) }], records, 60, 1);
  assert.equal(later.curve[0]?.waitingMs, waited, 'the end of the report does not matter');
});

test('slots that were in use before the report count as needed', () => {
  const held = stretchesOf({ inUse: 4, borrowed: 4 }, [], at(0), at(60));
  const { enough, curve } = whatIf(held, [], 30, 9);
  assert.equal(enough, 4);
  assert.deepEqual(curve.map(({ slots, denials }) => [slots, denials]).slice(2, 5), [
    [3, 1],
    [4, 0],
    [5, 0],
  ]);
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
