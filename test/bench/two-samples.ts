/** Two things that were measured by turns: the n-th of the one beside the n-th of the other. */
export interface TwoSamples {
  readonly first: readonly number[];
  readonly second: readonly number[];
}

/** Whether somebody who measures can tell the two apart. */
export interface Comparison {
  /** Median of the second minus median of the first. */
  readonly difference: number;
  /** Where that lies in 19 of 20 measurements like this one. */
  readonly interval: readonly [number, number];
  /**
   * How often a value of the second is above one of the first: 0.5 is what a coin gives, and 1 or 0 tell them
   * apart at one look. It is the area under the curve of whoever tells them apart by a threshold.
   */
  readonly auc: number;
  /** How often chance alone gives an AUC at least this far from 0.5 (Mann–Whitney U, two-sided). */
  readonly rankP: number;
  /** How often chance alone gives such a difference of the medians (turns swapped at random). */
  readonly medianP: number;
}

/** Enough for a p-value of a thousandth. */
const ROUNDS = 10_000;

export function compare(samples: TwoSamples, random: () => number): Comparison {
  const { auc, p } = rank(samples);
  const difference = medianDifference(samples);
  return {
    difference,
    interval: resample(samples, random),
    auc,
    rankP: p,
    medianP: swapTurns(samples, difference, random),
  };
}

/** The value below which this share of them lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] as number;
  const above = sorted[Math.ceil(place)] as number;
  return below + (above - below) * (place - Math.floor(place));
}

function medianDifference({ first, second }: TwoSamples): number {
  return quantile(second, 0.5) - quantile(first, 0.5);
}

interface Tie {
  /** How many values are the same. */
  readonly size: number;
  /** How many of them are of the second. */
  readonly ofSecond: number;
  /** The rank that they share; the smallest value has rank 1. */
  readonly rank: number;
}

function listTies({ first, second }: TwoSamples): readonly Tie[] {
  const all = [...first.map((value) => [value, 0] as const), ...second.map((value) => [value, 1] as const)];
  const groups = Map.groupBy(all, ([value]) => value);
  let before = 0;
  return [...groups.keys()]
    .sort((a, b) => a - b)
    .map((value) => {
      const group = groups.get(value) as (readonly [number, 0 | 1])[];
      const rank = before + (group.length + 1) / 2;
      before += group.length;
      return { size: group.length, ofSecond: group.filter(([, which]) => which === 1).length, rank };
    });
}

/** Mann and Whitney's U of the second, as a share of all pairs; p from the normal distribution. */
function rank(samples: TwoSamples): { readonly auc: number; readonly p: number } {
  const [m, n] = [samples.first.length, samples.second.length];
  const ties = listTies(samples);
  const rankSum = ties.reduce((sum, tie) => sum + tie.rank * tie.ofSecond, 0);
  const u = rankSum - (n * (n + 1)) / 2;
  const tied = ties.reduce((sum, { size }) => sum + (size ** 3 - size), 0);
  const variance = ((m * n) / 12) * (m + n + 1 - tied / ((m + n) * (m + n - 1)));
  const z = variance === 0 ? 0 : Math.abs(u - (m * n) / 2) / Math.sqrt(variance);
  return { auc: u / (m * n), p: 2 * upperTail(z) };
}

/** The share of the normal distribution above z; Abramowitz and Stegun 26.2.17, good to 7 digits. */
function upperTail(z: number): number {
  const k = 1 / (1 + 0.2316419 * z);
  const [a, b, c, d, e] = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const series = k * (a + k * (b + k * (c + k * (d + k * e))));
  return (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * series;
}

/** If it makes no difference which is which, it makes none to swap them in any turn. */
function swapTurns({ first, second }: TwoSamples, difference: number, random: () => number): number {
  let asFar = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const swaps = first.map(() => random() < 0.5);
    const pick = (own: readonly number[], other: readonly number[]) =>
      own.map((value, turn) => (swaps[turn] ? (other[turn] as number) : value));
    const swapped = { first: pick(first, second), second: pick(second, first) };
    if (Math.abs(medianDifference(swapped)) >= Math.abs(difference)) asFar += 1;
  }
  return (asFar + 1) / (ROUNDS + 1);
}

/** The middle of what other measurements would have given, had they drawn their turns from these. */
function resample({ first, second }: TwoSamples, random: () => number): readonly [number, number] {
  const differences = Array.from({ length: ROUNDS }, () => {
    const turns = first.map(() => Math.floor(random() * first.length));
    const draw = (values: readonly number[]) => turns.map((turn) => values[turn] as number);
    return medianDifference({ first: draw(first), second: draw(second) });
  });
  return [quantile(differences, 0.025), quantile(differences, 0.975)];
}
