import { LatencyHistogram } from './load/latency.ts';
import type { HistogramStep, LoadResult } from './load/load-plan.ts';

/** What a server did under load for a while, and the processor time that it took. */
export interface Slice {
  readonly load: LoadResult;
  /** In seconds; `null` where it cannot be read. */
  readonly cpu: CpuUsed | null;
}

interface CpuUsed {
  /** Of all servers together. */
  readonly server: number;
  /** 0 where there is no database beside them. */
  readonly database: number;
  readonly others: number;
  readonly elapsed: number;
}

/** Slices put together. Latencies are in milliseconds. */
export interface Measured {
  readonly requests: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly histogram: readonly HistogramStep[];
  readonly errors: number;
  readonly firstError: string | null;
  /** Processor time of the server for one request, in microseconds. */
  readonly cpuMicros: number | null;
  /** The same of the database beside it. */
  readonly databaseMicros: number | null;
  /** How many cores programs that are none of ours kept busy meanwhile. */
  readonly othersCores: number | null;
  /** How much of the time the load generator was at work: near 1, the server could have done more. */
  readonly generatorShare: number;
}

/** One line of the results. */
export interface Measurement extends Measured {
  readonly label: string;
  /** The constant answer before, between and after the slices; `null`: none belongs to it. */
  readonly constant: ConstantMeasured | null;
}

export interface ConstantMeasured {
  readonly rate: number;
  readonly cpuMicros: number | null;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export function joinSlices(slices: readonly Slice[]): Measured {
  const loads = slices.map(({ load }) => load);
  const latencies = new LatencyHistogram();
  for (const { latencies: counts, max } of loads) latencies.add(counts, max);
  const seconds = sum(loads.map((load) => load.seconds));
  const counted = sum(loads.map((load) => load.counted));
  return {
    requests: counted,
    rate: counted / seconds,
    p50: latencies.quantile(0.5),
    p99: latencies.quantile(0.99),
    p999: latencies.quantile(0.999),
    max: latencies.max,
    histogram: latencies.steps(),
    errors: sum(loads.map(({ errors }) => errors)),
    firstError: loads.map(({ firstError }) => firstError).find((error) => error !== null) ?? null,
    ...joinCpu(slices),
    generatorShare: sum(loads.map((load) => load.busyShare * load.seconds)) / seconds,
  };
}

function joinCpu(slices: readonly Slice[]): Pick<Measured, 'cpuMicros' | 'databaseMicros' | 'othersCores'> {
  const cpus = slices.flatMap(({ cpu }) => (cpu === null ? [] : [cpu]));
  if (cpus.length < slices.length) return { cpuMicros: null, databaseMicros: null, othersCores: null };
  const answered = sum(slices.map(({ load }) => load.answered));
  const elapsed = sum(cpus.map((cpu) => cpu.elapsed));
  return {
    cpuMicros: (sum(cpus.map(({ server }) => server)) / answered) * 1e6,
    databaseMicros: (sum(cpus.map(({ database }) => database)) / answered) * 1e6,
    othersCores: Math.max(0, sum(cpus.map(({ others }) => others)) / elapsed),
  };
}

/** Of a core: what others may take before a turn tells more about them than about those that are compared. */
const MAX_OF_OTHERS = 0.3;

/** Whether other programs, or other machines on the same processor, took too much time from it. */
export function isDisturbed({ cpu }: Slice): boolean {
  return cpu !== null && cpu.others > cpu.elapsed * MAX_OF_OTHERS;
}

/** A generator that has less time left than this waits for nobody. */
const SATURATED_SHARE = 0.95;

export function isGeneratorSaturated({ generatorShare }: Measured): boolean {
  return generatorShare >= SATURATED_SHARE;
}

/** The slices stand between the constants: the first and the last of these have one neighbour only. */
export function joinConstants(constants: readonly ConstantMeasured[]): ConstantMeasured {
  const weights = constants.map((_, index) => (index === 0 || index === constants.length - 1 ? 0.5 : 1));
  const mean = (values: readonly number[]) =>
    sum(values.map((value, index) => value * (weights[index] as number))) / sum(weights);
  const cpus = constants.flatMap(({ cpuMicros }) => (cpuMicros === null ? [] : [cpuMicros]));
  return {
    rate: mean(constants.map(({ rate }) => rate)),
    cpuMicros: cpus.length < constants.length ? null : mean(cpus),
  };
}

/** The rate as a share of the constant's beside it. */
export function shareOf({ rate, constant }: Measurement): number | null {
  return constant === null ? null : rate / constant.rate;
}

/** What the constant takes of what this takes: like the share of the rate, but less easily disturbed. */
export function cpuShareOf({ cpuMicros, constant }: Measurement): number | null {
  if (cpuMicros === null || constant === null || constant.cpuMicros === null) return null;
  return constant.cpuMicros / cpuMicros;
}

/** What a request of `a` costs in requests of `b`: processor time, each against the constant beside it. */
export function costRatio(a: Measurement, b: Measurement): number {
  const share = (measurement: Measurement) => cpuShareOf(measurement) ?? (shareOf(measurement) as number);
  return share(b) / share(a);
}
