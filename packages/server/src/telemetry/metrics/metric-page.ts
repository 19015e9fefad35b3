import type { Histogram } from '../../core/nouns/histogram.ts';
import { METRICS, type MetricName } from './metrics.ts';

/** `openmetrics`: OpenMetrics 1.0.0. `prometheus`: the older text format 0.0.4. */
export type MetricFormat = 'openmetrics' | 'prometheus';

interface Sample {
  /** In the order of the metric's labels. */
  readonly labels: readonly string[];
  readonly value: number | Histogram;
}

/** Collects samples and writes them as text. */
export class MetricPage {
  readonly #samples = new Map<MetricName, Sample[]>();

  add(name: MetricName, value: number | Histogram, ...labels: readonly string[]): void {
    const sample = { labels, value };
    const others = this.#samples.get(name);
    if (others === undefined) this.#samples.set(name, [sample]);
    else others.push(sample);
  }

  write(format: MetricFormat): string {
    const lines: string[] = [];
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const samples = this.#samples.get(name);
      if (samples !== undefined) writeFamily(lines, name, samples, format);
    }
    if (format === 'openmetrics') lines.push('# EOF');
    return `${lines.join('\n')}\n`;
  }
}

function writeFamily(
  lines: string[],
  name: MetricName,
  samples: readonly Sample[],
  format: MetricFormat,
): void {
  const { type, help, labels } = METRICS[name];
  const isOpen = format === 'openmetrics';
  // OpenMetrics names a family without the ending of its samples.
  const family = isOpen ? name.replace(/_(?:total|info)$/, '') : name;
  lines.push(`# TYPE ${family} ${type === 'info' && !isOpen ? 'gauge' : type}`, `# HELP ${family} ${help}`);
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

/** OpenMetrics wants a point in every bound. */
function formatBound(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

function escapeValue(text: string): string {
  return text.toWellFormed().replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`));
}
