import type { Histogram } from '../../core/nouns/histogram.ts';
import { METRICS, type MetricName } from './metrics.ts';

interface Sample {
  /** In the order of the metric's labels. */
  readonly labels: readonly string[];
  readonly value: number | Histogram;
}

/** Collects samples and writes them in the text format 0.0.4, which every program for monitoring reads. */
export class MetricPage {
  readonly #samples = new Map<MetricName, Sample[]>();

  add(name: MetricName, value: number | Histogram, ...labels: readonly string[]): void {
    const sample = { labels, value };
    const others = this.#samples.get(name);
    if (others === undefined) this.#samples.set(name, [sample]);
    else others.push(sample);
  }

  write(): string {
    const lines: string[] = [];
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const samples = this.#samples.get(name);
      if (samples !== undefined) writeFamily(lines, name, samples);
    }
    return `${lines.join('\n')}\n`;
  }
}

function writeFamily(lines: string[], name: MetricName, samples: readonly Sample[]): void {
  const { type, help, labels } = METRICS[name];
  lines.push(`# TYPE ${name} ${type}`, `# HELP ${name} ${help}`);
  for (const { value, labels: values } of samples) {
    const pairs = labels.map((label, index) => `${label}="${escapeValue(values[index] ?? '')}"`);
    if (typeof value === 'number') lines.push(`${name}${inBraces(pairs)} ${value}`);
    else writeHistogram(lines, name, pairs, value);
  }
}

function writeHistogram(lines: string[], name: string, pairs: readonly string[], histogram: Histogram): void {
  const counts = histogram.cumulate();
  for (const [index, count] of counts.entries()) {
    const bound = histogram.bounds[index];
    const le = bound === undefined ? '+Inf' : formatBound(bound);
    lines.push(`${name}_bucket${inBraces([...pairs, `le="${le}"`])} ${count}`);
  }
  lines.push(
    `${name}_count${inBraces(pairs)} ${counts.at(-1)}`,
    `${name}_sum${inBraces(pairs)} ${histogram.sum}`,
  );
}

function inBraces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** As in OpenMetrics, whole bounds have a point, too. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

function escapeValue(text: string): string {
  return text.toWellFormed().replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));
}
