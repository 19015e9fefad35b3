import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parseYaml } from '../../packages/server/src/parse-yaml.ts';
import { METRICS } from '../../packages/server/src/telemetry/metrics/metrics.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const TABLE: Readonly<Record<string, { type: string; labels: readonly string[]; help: string }>> = METRICS;

/** The series of a metric, as queries name them. */
const SERIES = new Set(
  Object.entries(TABLE).flatMap(([name, { type }]) =>
    type === 'histogram' ? ['_bucket', '_count', '_sum'].map((ending) => name + ending) : [name],
  ),
);

/** Labels of the metrics, and those that Prometheus adds. */
const LABELS = new Set([...Object.values(TABLE).flatMap(({ labels }) => labels), 'le', 'job', 'instance']);

const WORDS = new Set(
  'abs and by count histogram_quantile increase label_values max min or rate sum time up vector'.split(' '),
);

/** Checks that a query names only series and labels that there are. Returns the series. */
function checkQuery(query: string): readonly string[] {
  for (const [open, close] of ['()', '{}', '[]'].map((pair) => [...pair] as [string, string])) {
    assert.equal(query.split(open).length, query.split(close).length, query);
  }
  const labels = [
    ...[...query.matchAll(/[{,](\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label as string),
    ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => (list as string).split(', ')),
  ];
  for (const label of labels) assert.ok(LABELS.has(label), `${label} in ${query}`);
  const rest = query
    .replace(/"[^"]*"|\[[^\]]*\]/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\bby \([^)]*\)/g, 'by')
    .replace(/^label_values\((\w+), \w+\)$/, 'label_values($1)');
  const names = [...rest.matchAll(/[a-z_]\w*/gi)].map(([name]) => name).filter((name) => !WORDS.has(name));
  for (const name of names) assert.ok(SERIES.has(name), `${name} in ${query}`);
  return names;
}

describe('docs/monitoring.md', () => {
  test('has every metric with its type, its labels and its meaning, and no other', () => {
    const rows = Object.entries(TABLE).map(([name, { type, labels, help }]) => {
      const listed = labels.length === 0 ? '' : `{${labels.join(',')}}`;
      return `| \`${name}${listed}\` | ${type} | ${help} |`;
    });
    const shown = read('docs/monitoring.md').match(/^\| `(?:berth|process)_.*$/gm);
    assert.deepEqual(shown, rows);
  });
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

describe('monitoring/alerts.yaml', () => {
  const file = parseYaml(read('monitoring/alerts.yaml'), { strict: true, uniqueKeys: true });
  const { groups } = file as { readonly groups: readonly { name: string; rules: readonly Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);

  test('is a file of alert rules, each with a name, a severity and what to do', () => {
    assert.deepEqual(Object.keys(file as object), ['groups']);
    assert.equal(new Set(groups.map(({ name }) => name)).size, groups.length);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    assert.ok(rules.length > 10);
    const known = ['alert', 'expr', 'for', 'labels', 'annotations'];
    for (const rule of rules) {
      assert.match(rule.alert, /^Berth[A-Za-z]+$/);
      for (const key of Object.keys(rule)) assert.ok(known.includes(key), `${rule.alert}: ${key}`);
      if (rule.for !== undefined) assert.match(rule.for, /^\d+[smhd]$/);
      assert.match(rule.labels.severity, /^(?:critical|warning|info)$/);
      const { summary, description } = rule.annotations;
      assert.ok(summary.endsWith('.') && description.endsWith('.'), rule.alert);
      const named = [...`${summary}${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      for (const label of named) assert.ok(LABELS.has(label as string), rule.alert);
    }
  });

  test('uses only metrics and labels that there are', () => {
    for (const { expr, alert } of rules) {
      assert.ok(checkQuery(expr).length > 0 || expr.startsWith('up{'), alert);
    }
  });

  test('refers to labels that its query keeps', () => {
    for (const { expr, annotations } of rules) {
      const kept = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(', ');
      const text = `${annotations.summary}${annotations.description}`;
      const named = [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string);
      for (const label of named) assert.ok(kept === undefined || kept.includes(label), `${label}: ${expr}`);
    }
  });
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

describe('monitoring/grafana-dashboard.json', () => {
  const dashboard = JSON.parse(read('monitoring/grafana-dashboard.json')) as {
    readonly panels: readonly Panel[];
    readonly templating: { readonly list: readonly { readonly type: string; readonly query: string }[] };
  };
  const { panels, templating } = dashboard;

  test('uses only metrics and labels that there are, and shows every metric', () => {
    const variables = templating.list.filter(({ type }) => type === 'query').map(({ query }) => query);
    const queries = [...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)), ...variables];
    const used = new Set(
      queries.flatMap(checkQuery).map((name) => name.replace(/_(?:bucket|sum|count)$/, '')),
    );
    assert.deepEqual(
      Object.keys(TABLE).filter((name) => !used.has(name)),
      [],
    );
  });

  test('has panels with an id and a query each', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const { id, type, targets = [] } of panels)
      assert.equal(targets.length > 0, type !== 'row', `${id}`);
  });
});
