import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyHistogram } from './latency.ts';

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** The value of which so large a share is no larger, of all values themselves. */
function exactQuantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number;
}

test('a quantile is never below the exact one, and above it by less than 1 in 128', () => {
  // From microseconds to minutes, spread evenly over the powers of ten.
  const values = Array.from(
    { length: 10_000 },
    (_, index) => 10 ** (-3 + (8 * ((index * 7919) % 10_000)) / 1e4),
  );
  const histogram = histogramOf(values);
  for (const share of [0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1]) {
    const [found, exact] = [histogram.quantile(share), exactQuantile(values, share)];
    assert.ok(found >= exact, `${share}: ${found} is below ${exact}`);
    // The clock's microsecond is rounded up first.
    assert.ok(found <= (exact + 0.001) * (1 + 1 / 128), `${share}: ${found} is far above ${exact}`);
  }
});

test('the longest is exact, and no quantile is above it', () => {
  const histogram = histogramOf([1, 2, 777.7775]);
  assert.equal(histogram.max, 777.7775);
  assert.equal(histogram.quantile(1), 777.7775);
});

test('a value longer than half an hour is counted as the longest', () => {
  const histogram = histogramOf([1, 1e9]);
  assert.equal(histogram.total, 2);
  assert.equal(histogram.counts().length, 2);
  assert.ok(histogram.quantile(0.5) < 1.01);
});

test('histograms add up to that of all values, also through plain data', () => {
  const [a, b] = [
    [0.05, 3, 3.001, 90],
    [0.2, 3, 40_000],
  ];
  const joined = new LatencyHistogram();
  for (const part of [histogramOf(a as number[]), histogramOf(b as number[])])
    joined.add(JSON.parse(JSON.stringify(part.counts())), part.max);
  const whole = histogramOf([...(a as number[]), ...(b as number[])]);
  assert.deepEqual(joined.counts(), whole.counts());
  assert.equal(joined.total, 7);
  assert.equal(joined.max, 40_000);
});

test('steps count every value once, where its bucket ends', () => {
  assert.deepEqual(histogramOf([0.2, 0.49, 0.51, 1.5, 5000]).steps(), [
    { withinMs: 0.5, count: 2 },
    { withinMs: 1, count: 1 },
    { withinMs: 2, count: 1 },
    { withinMs: Number.POSITIVE_INFINITY, count: 1 },
  ]);
});

test('nothing recorded has no latency', () => {
  assert.equal(new LatencyHistogram().quantile(0.99), 0);
  assert.deepEqual(new LatencyHistogram().steps(), []);
});
