import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measurement } from '../measurement.ts';
import { type Bar, describeChart, drawChart, listBars } from './chart.ts';
import { rangeOf } from './report.ts';

const BARS: readonly Bar[] = [
  { name: 'bare node:http', rate: 50_000, kind: 'yardstick' },
  { name: 'Berth: <heartbeat> & more', rate: 25_000.4, kind: 'berth' },
];

function row(label: string, rate: number): Measurement {
  return { label, rate } as Measurement;
}

test('bars are as long as their rates, and names are escaped', () => {
  const svg = drawChart(BARS);
  const widths = [...svg.matchAll(/<rect class="(\w+)"[^>]* width="(\d+)"/g)].map(([, ...found]) => found);
  assert.deepEqual(widths, [
    ['yardstick', '410'],
    ['berth', '205'],
  ]);
  assert.match(svg, />Berth: &lt;heartbeat&gt; &amp; more</);
  assert.match(svg, />25,000</);
  assert.match(svg, /prefers-color-scheme: dark/);
});

test('the same numbers make the same chart', () => {
  assert.equal(drawChart(BARS), drawChart(structuredClone(BARS)));
  assert.notEqual(drawChart(BARS), drawChart(BARS.toReversed()));
});

test('the chart has words for those who cannot see it', () => {
  const words = 'Requests per second: bare node:http 50,000; Berth: <heartbeat> & more 25,000';
  assert.equal(describeChart(BARS), words);
});

test('it shows what was measured: yardstick and Berth', () => {
  const bars = listBars([
    row('heartbeat, 64 connections', 3),
    row('bare node:http, 64 connections', 9),
    row('bare node:net, 64 connections', 10),
    row('heartbeat, 16 connections', 2),
  ]);
  assert.deepEqual(bars, [
    { name: 'bare node:http', rate: 9, kind: 'yardstick' },
    { name: 'Berth: heartbeat', rate: 3, kind: 'berth' },
  ]);
});

test('a target shows the lowest and the highest of all runs', () => {
  assert.equal(rangeOf(['70.7 ms, in the middle 9 ms', '57.1 ms', '183.3 ms']), '57.1–183.3 ms');
  assert.equal(rangeOf(['CPU 1.03 ×, rate 1.10 ×', 'CPU 1.07 ×, rate 1.07 ×']), 'CPU 1.03–1.07 ×');
  assert.equal(rangeOf(['none', 'none']), 'none');
  assert.equal(rangeOf(['0.96 × (0.80–1.54)', '0.96 × (0.67–1.06)']), '0.96 ×');
});

test('nothing measured is an empty chart', () => {
  assert.deepEqual(listBars([]), []);
  assert.match(drawChart([]), /^<svg .*<\/svg>\n$/s);
});
