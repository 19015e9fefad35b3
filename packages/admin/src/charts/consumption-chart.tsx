import { readNow } from '../clock.ts';
import { type Counted, type Forecast, spreadOf } from '../words/forecast.ts';
import { formatAmount } from '../words/numbers.ts';
import { DAY_MS, formatDate, formatDay } from '../words/time.ts';
import { listWeekends, ReadableChart, useWidth, YAxis } from './chart-frame.tsx';

interface ConsumptionChartProps {
  readonly counted: Counted;
  readonly ahead: Forecast;
  /** The amounts of the days of this period, the first day first. */
  readonly days: readonly number[];
}

const HEIGHT = 260;
const LEFT = 64;
const TOP = 16;
/** Room for a point and a day beside it. */
const DAY_WIDTH = 96;
const BASE = HEIGHT - 28;

/** The total of the period so far, the maximum, and how it goes on at this pace. */
export function ConsumptionChart({ counted, ahead, days }: ConsumptionChartProps) {
  const { box, width } = useWidth(760);
  const now = readNow();
  const end = ahead.endAt ?? now + 30 * DAY_MS;
  const right = width - 12;
  const totals = cumulate(days, counted.total);
  const most = Math.max(counted.max + counted.overage, counted.total, ahead.expected ?? 0) * 1.04;
  const x = (at: number) => LEFT + ((at - ahead.startAt) / (end - ahead.startAt)) * (right - LEFT);
  const y = (value: number) => TOP + (1 - value / most) * (BASE - TOP);
  const dayEnd = (day: number) => Math.min(now, ahead.startAt + (day + 1) * DAY_MS);
  const points = totals.map((total, day) => [x(dayEnd(day)), y(total)] as const);
  const line = [`M${x(ahead.startAt)} ${BASE}`, ...points.map(([px, py]) => `L${px} ${py}`)].join('');
  const last = points.at(-1) ?? ([x(ahead.startAt), BASE] as const);
  const scale = { counted, ahead, x, y, now, end, right, most };
  const tipAt = (index: number) => ({
    x: points[index]?.[0] ?? LEFT,
    title: formatDay(ahead.startAt + index * DAY_MS, now),
    rows: [
      ['Total', formatAmount(totals[index] ?? 0)],
      ['On this day', formatAmount(days[index] ?? 0)],
    ] as const,
  });
  return (
    <ReadableChart
      label={`${formatAmount(counted.total)} of ${formatAmount(counted.max)} consumed.`}
      {...{ box, width }}
      height={HEIGHT}
      left={LEFT}
      right={last[0]}
      top={TOP}
      base={BASE}
      count={totals.length}
      tip={tipAt}
    >
      <Ground {...scale} />
      <path class="area" d={`${line}V${BASE}z`} />
      <path class="stroke" d={line} />
      <path class="limit" d={`M${LEFT} ${y(counted.max)}H${right}`} />
      <text class="strong-text" x={LEFT + 6} y={y(counted.max) - 6}>
        {formatAmount(counted.max)}
      </text>
      <Spread {...scale} days={days} last={last} />
      {ahead.expected !== null && (
        <path class="ahead" d={`M${last[0]} ${last[1]}L${x(end)} ${y(ahead.expected)}`} />
      )}
      <Reached {...scale} />
      <circle class="dot" cx={last[0]} cy={last[1]} r="3.5" />
      <text class="strong-text" x={Math.max(LEFT + 60, last[0] - 8)} y={last[1] - 10} text-anchor="end">
        {formatAmount(counted.total)} now
      </text>
    </ReadableChart>
  );
}

interface Scale {
  readonly counted: Counted;
  readonly ahead: Forecast;
  readonly x: (at: number) => number;
  readonly y: (value: number) => number;
  readonly now: number;
  readonly end: number;
  readonly right: number;
  readonly most: number;
}

const QUARTERS = [
  [0, 'start'],
  [0.25, 'middle'],
  [0.5, 'middle'],
  [0.75, 'middle'],
  [1, 'end'],
] as const;

/** What lies below the lines: overage, weekends, axes. */
function Ground({ counted, ahead, x, y, now, end, right, most }: Scale) {
  const top = y(counted.max);
  return (
    <g>
      {counted.overage > 0 && <rect class="over" x={LEFT} y={TOP} width={right - LEFT} height={top - TOP} />}
      {end - ahead.startAt < 70 * DAY_MS &&
        listWeekends(ahead.startAt, end).map(([from, to]) => (
          <rect key={from} class="weekend" x={x(from)} y={top} width={x(to) - x(from)} height={BASE - top} />
        ))}
      <YAxis most={most} left={LEFT} right={right} y={y} format={formatAmount} />
      {QUARTERS.map(([share, anchor]) => {
        const at = ahead.startAt + share * (end - ahead.startAt) - (share === 1 ? 1 : 0);
        return (
          <text key={share} x={x(at)} y={HEIGHT - 8} text-anchor={anchor}>
            {formatDate(at, now)}
          </text>
        );
      })}
    </g>
  );
}

interface SpreadProps extends Scale {
  readonly days: readonly number[];
  readonly last: readonly [number, number];
}

/** How far the forecast may be off. */
function Spread({ ahead, x, y, now, end, days, last }: SpreadProps) {
  if (ahead.expected === null) return null;
  const spread = spreadOf(days.slice(0, -1), (end - now) / DAY_MS);
  const [high, low] = [y(ahead.expected + spread), y(Math.max(0, ahead.expected - spread))];
  return <path class="spread" d={`M${last[0]} ${last[1]}L${x(end)} ${high}V${low}z`} />;
}

/** Where the forecast meets the maximum. The day is below it, or above it if there is no room beside it. */
function Reached({ counted, ahead, x, y, now, right }: Scale) {
  if (ahead.fullAt === null || ahead.fullAt <= now) return null;
  const [atX, atY] = [x(ahead.fullAt), y(counted.max)];
  const [textX, textY, anchor] =
    atX + DAY_WIDTH > right ? ([right, atY - 10, 'end'] as const) : ([atX + 8, atY + 18, 'start'] as const);
  return (
    <g>
      <circle cx={atX} cy={atY} r="4" fill="var(--surface)" stroke="var(--warning-shape)" stroke-width="2" />
      <text x={textX} y={textY} fill="var(--warning)" class="warn-text" text-anchor={anchor}>
        {formatDay(ahead.fullAt, now)}
      </text>
    </g>
  );
}

/** Ends with the total that is known now: corrections by the vendor are not in the days. */
function cumulate(days: readonly number[], total: number): readonly number[] {
  let sum = 0;
  const totals = days.map((amount) => {
    sum += amount;
    return sum;
  });
  const shift = total - sum;
  return totals.length === 0 ? [total] : totals.map((value) => Math.max(0, value + shift));
}
