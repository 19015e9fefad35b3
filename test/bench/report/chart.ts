import type { Measurement } from '../measurement.ts';

/** A rate in the chart: of Berth, or of a program without a store. */
interface Bar {
  readonly name: string;
  readonly rate: number;
  readonly kind: 'berth' | 'yardstick';
}

/** Rows of the results that the chart has, in its order, and what it calls them. */
const ROWS: readonly (Omit<Bar, 'rate'> & { readonly label: string })[] = [
  { label: 'bare node:http, 64 connections', name: 'bare node:http', kind: 'yardstick' },
  { label: 'heartbeat, 64 connections', name: 'Berth: heartbeat', kind: 'berth' },
  { label: 'borrow', name: 'Berth: borrow', kind: 'berth' },
  { label: 'consumption', name: 'Berth: consumption', kind: 'berth' },
  {
    label: 'register + unregister, 1,000 slots, 64 connections',
    name: 'Berth: register + unregister',
    kind: 'berth',
  },
];

/** Those that were measured. */
export function listBars(measurements: readonly Pick<Measurement, 'label' | 'rate'>[]): readonly Bar[] {
  return ROWS.flatMap(({ label, name, kind }) => {
    const row = measurements.find((measurement) => measurement.label === label);
    return row === undefined ? [] : [{ name, rate: row.rate, kind }];
  });
}

const WIDTH = 720;
const BAR_LEFT = 230;
const BAR_RIGHT = 640;
const ROW_HEIGHT = 30;
const BAR_HEIGHT = 18;
const TOP = 36;

/** Colors that are easy to see on white and on black; letters change with the reader's theme. */
const STYLE = `
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .berth { fill: #2f7de1 } .yardstick { fill: #848d97 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
`;

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function thousands(rate: number): string {
  return Math.round(rate).toLocaleString('en');
}

/** The chart in words, for those who cannot see it. */
export function describeChart(bars: readonly Bar[]): string {
  return `Requests per second: ${bars.map(({ name, rate }) => `${name} ${thousands(rate)}`).join('; ')}`;
}

function drawBar({ name, rate, kind }: Bar, index: number, most: number): string {
  const y = TOP + index * ROW_HEIGHT;
  const width = Math.max(1, Math.round((rate / most) * (BAR_RIGHT - BAR_LEFT)));
  const baseline = y + BAR_HEIGHT - 4;
  return [
    `<text x="${BAR_LEFT - 10}" y="${baseline}" text-anchor="end">${escapeText(name)}</text>`,
    `<rect class="${kind}" x="${BAR_LEFT}" y="${y}" width="${width}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<text x="${BAR_LEFT + width + 8}" y="${baseline}">${thousands(rate)}</text>`,
  ].join('\n');
}

/** The same numbers make the same file, byte for byte. */
export function drawChart(bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map(({ rate }) => rate));
  const height = TOP + bars.length * ROW_HEIGHT + 6;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" role="img">`,
    `<title>${escapeText(describeChart(bars))}</title>`,
    `<style>${STYLE}</style>`,
    `<text x="${BAR_LEFT}" y="20">requests per second; Berth syncs every answer to disk</text>`,
    ...bars.map((bar, index) => drawBar(bar, index, most)),
    '</svg>',
  ].join('\n')}\n`;
}
