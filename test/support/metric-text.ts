import assert from 'node:assert/strict';

const NAME = /^[a-z][a-z0-9_]*$/;
const SAMPLE = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const LABEL = /^([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=.)|$)/;

const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  gauge: [''],
  counter: [''],
  histogram: ['_bucket', '_count', '_sum'],
};

/**
 * Reads a page in Prometheus's text format, strictly: families in one piece, no series twice, histograms
 * that add up. Returns values by series as written, and types by family.
 */
export function readMetrics(text: string) {
  assert.ok(text.endsWith('\n'), 'ends with a line break');
  const types = new Map<string, string>();
  const values = new Map<string, number>();
  let family = '';
  for (const line of text.trimEnd().split('\n')) {
    const [, word, name = '', rest = ''] = /^# (TYPE|HELP) (\S+) (.+)$/.exec(line) ?? [];
    if (word === 'TYPE') {
      assert.match(name, NAME);
      assert.ok(!types.has(name), `${name} comes once`);
      assert.ok(rest in ENDINGS, line);
      types.set(name, rest);
      family = name;
    } else if (word === 'HELP') assert.equal(name, family);
    else readSample(line, family, types, values);
  }
  checkHistograms(types, values);
  return { types, values };
}

function readSample(
  line: string,
  family: string,
  types: ReadonlyMap<string, string>,
  values: Map<string, number>,
): void {
  const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
  assert.ok(value !== undefined, line);
  const endings = ENDINGS[types.get(family) ?? ''] ?? [];
  assert.ok(
    endings.some((ending) => name === family + ending),
    `${name} belongs to ${family}`,
  );
  for (let left = labels; left !== ''; ) {
    const [pair] = LABEL.exec(left) ?? [];
    assert.ok(pair !== undefined, line);
    left = left.slice(pair.length);
  }
  const series = line.slice(0, line.lastIndexOf(' '));
  assert.ok(!values.has(series), `${series} comes once`);
  values.set(series, Number(value));
}

function checkHistograms(types: ReadonlyMap<string, string>, values: ReadonlyMap<string, number>): void {
  for (const [name] of [...types].filter(([, type]) => type === 'histogram')) {
    const buckets = [...values].filter(([series]) => series.startsWith(`${name}_bucket{`));
    const bySeries = Map.groupBy(buckets, ([series]) => series.replace(/,?le="[^"]+"/, ''));
    for (const [series, list] of bySeries) {
      const counts = list.map(([, count]) => count);
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => a - b),
        series,
      );
      assert.match(list.at(-1)?.[0] ?? '', /le="\+Inf"/);
      const count = values.get(series.replace('_bucket', '_count').replace('{}', ''));
      assert.equal(count, counts.at(-1), series);
    }
  }
}
