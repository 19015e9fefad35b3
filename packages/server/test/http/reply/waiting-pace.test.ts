import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/config.ts';
import { WaitingPace } from '../../../src/http/reply/waiting-pace.ts';

const LONGEST_SECONDS = 120;

function repeat<Value>(count: number, work: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => work(index));
}

/** Clients that do as they are told, give or take a half, from the given second to the other. */
function play(pace: WaitingPace, clients: number, [fromMs, untilMs]: readonly [number, number]) {
  const dueMs = repeat(clients, () => fromMs);
  const askedAtMs: number[] = [];
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 50) {
    for (const [client, due] of dueMs.entries()) {
      if (due > nowMs) continue;
      askedAtMs.push(nowMs);
      // As if by chance, and from half as long to one and a half times as long.
      const share = 0.5 + ((askedAtMs.length * 0.618) % 1);
      dueMs[client] = nowMs + pace.takeTurn('cad', nowMs) * 1000 * share;
    }
  }
  return (from: number, until: number) => askedAtMs.filter((at) => at >= from && at < until).length;
}

describe('the pace of those who wait', () => {
  test('is once a second while few wait', () => {
    const pace = new WaitingPace();
    assert.deepEqual(
      repeat(20, () => pace.takeTurn('cad', 5000)),
      repeat(20, () => 1),
    );
    assert.equal(pace.takeTurn('cad', 5000), 2);
    assert.equal(pace.takeTurn('cad', 6500), 1);
  });

  test('becomes slower with every one who comes, up to two minutes, and recovers from a flood', () => {
    const pace = new WaitingPace();
    const told = repeat(1000, () => pace.takeTurn('cad', 0));
    assert.deepEqual([told[0], told[499], told[999]], [1, 25, 50]);
    assert.equal(Math.max(...repeat(100_000, () => pace.takeTurn('cad', 0))), LONGEST_SECONDS);
    assert.equal(pace.takeTurn('cad', 60_000), 61);
    assert.equal(pace.takeTurn('cad', 121_000), 1);
  });

  test('is twenty requests a second, soon after a thousand have come at once', () => {
    const count = play(new WaitingPace(), 1000, [0, 300_000]);
    assert.equal(count(0, 500), 1000);
    const rates = repeat(14, (n) => count(20_000 + n * 20_000, 40_000 + n * 20_000) / 20);
    assert.ok(
      rates.every((rate) => rate > 14 && rate < 27),
      String(rates),
    );
  });

  test('forgets those who do not come again', () => {
    const pace = new WaitingPace();
    play(pace, 1000, [0, 100_000]);
    assert.ok(pace.takeTurn('cad', 100_000) > 40);
    assert.equal(pace.takeTurn('cad', 160_000), 1);
    const count = play(pace, 10, [170_000, 270_000]);
    assert.ok(count(170_000, 270_000) > 900);
  });

  test('of one license hardly depends on others, unless many are waited for', () => {
    const pace = new WaitingPace();
    repeat(1000, () => pace.takeTurn('cad', 0));
    assert.equal(pace.takeTurn('cam', 9000), 2);
    assert.equal(pace.takeTurn('cam', 10_000), 1);
    assert.equal(repeat(1500, (n) => pace.takeTurn(`product-${n}`, 100_000)).at(-1), 15);
    assert.equal(repeat(5000, (n) => pace.takeTurn(`product-${n}`, 100_000)).at(-1), 20);
  });

  test('is known only of a limited number of licenses', () => {
    const pace = new WaitingPace();
    repeat(1000, () => pace.takeTurn('old', 0));
    repeat(LIMITS.pacedLicenses - 1, (n) => pace.takeTurn(`product-${n}`, 0));
    assert.equal(pace.takeTurn('old', 0), 51);
    pace.takeTurn('one more', 0);
    assert.equal(pace.takeTurn('old', 0), 51);
    repeat(LIMITS.pacedLicenses, (n) => pace.takeTurn(`product-${n}`, 0));
    assert.equal(pace.takeTurn('old', 0), 20);
  });
});
