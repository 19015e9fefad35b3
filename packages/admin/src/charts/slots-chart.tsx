import { readNow } from '../clock.ts';
import { formatNumber } from '../words/numbers.ts';
import {
  DAY_MS,
  formatClock,
  formatDay,
  formatMoment,
  formatWeekday,
  listClockTicks,
} from '../words/time.ts';
import { groupDenials, type Step } from '../words/usage.ts';
import { DAY_LABEL_WIDTH, listTicks, listWeekends, ReadableChart, useWidth, YAxis } from './chart-frame.tsx';

interface SlotsChartProps {
  readonly steps: readonly Step[];
  readonly stepMs: number;
  readonly slots: number;
}

/** As wide as the word before the denials. */
const LEFT = 56;
const TOP = 14;
const BASE = 200;
const DENIED_BASE = 248;
export const SLOTS_CHART_HEIGHT = 274;

/** Peak and average over time, the slots there are, and denials per day below. */
export function SlotsChart({ steps, stepMs, slots }: SlotsChartProps) {
  const { box, width } = useWidth(1000);
  const since = steps[0]?.at ?? 0;
  const until = (steps.at(-1)?.at ?? 0) + stepMs;
  const most = Math.max(slots, 1, ...steps.map(({ peak }) => peak));
  const right = width - 4;
  const x = (at: number) => LEFT + ((at - since) / Math.max(1, until - since)) * (right - LEFT);
  const y = (value: number) => TOP + (1 - value / (most * 1.06)) * (BASE - TOP);
  const highest = formatNumber(Math.max(0, ...steps.map(({ peak }) => peak)));
  const tipAt = (index: number) => {
    const { at, peak, average, borrowed, denials } = steps[index] as Step;
    return {
      x: x(at + stepMs / 2),
      title: titleOf(at, stepMs),
      rows: [
        ['Peak', `${formatNumber(peak)} of ${formatNumber(slots)}`],
        ['Average', formatNumber(average)],
        ['Borrowed', formatNumber(borrowed)],
        ['Denials', formatNumber(denials)],
      ] as const,
    };
  };
  return (
    <ReadableChart
      label={`Slots in use over time: at most ${highest} of ${formatNumber(slots)}.`}
      {...{ box, width, right }}
      height={SLOTS_CHART_HEIGHT}
      left={LEFT}
      top={TOP}
      base={DENIED_BASE}
      count={steps.length}
      tip={tipAt}
    >
      <Grid {...{ since, until, most, slots, x, y, right }} />
      <path class="peak" d={`${stepPath(steps, 'peak', x, y, stepMs)}V${BASE}H${LEFT}z`} />
      <path class="stroke" d={stepPath(steps, 'average', x, y, stepMs)} />
      <path class="limit" d={`M${LEFT} ${y(slots)}H${right}`} />
      <text class="strong-text" x={LEFT - 8} y={y(slots) + 4} text-anchor="end">
        {formatNumber(slots)}
      </text>
      <DenialBars steps={steps} x={x} width={width} />
    </ReadableChart>
  );
}

type Scale = (value: number) => number;

function stepPath(
  steps: readonly Step[],
  name: 'peak' | 'average',
  x: Scale,
  y: Scale,
  stepMs: number,
): string {
  const parts = steps.map((step, index) => {
    const [from, to, at] = [x(step.at), x(step.at + stepMs), y(step[name])].map((value) => value.toFixed(1));
    return `${index === 0 ? `M${from} ${at}` : `V${at}`}H${to}`;
  });
  return parts.length === 0 ? `M${LEFT} ${BASE}` : parts.join('');
}

interface GridProps {
  readonly since: number;
  readonly until: number;
  readonly most: number;
  readonly slots: number;
  readonly x: Scale;
  readonly y: Scale;
  readonly right: number;
}

function Grid({ since, until, most, slots, x, y, right }: GridProps) {
  const days = (until - since) / DAY_MS;
  const now = readNow();
  // Seven days of a narrow chart have room for weekdays alone.
  const isShort = days <= 8 && x(DAY_MS) - x(0) < DAY_LABEL_WIDTH;
  const ticks = fitTicks(listTicks(since, until), x, isShort ? WEEKDAY_WIDTH : DAY_LABEL_WIDTH, right);
  return (
    <g>
      {days >= 3 &&
        days < 70 &&
        listWeekends(since, until).map(([from, to]) => (
          <rect key={from} class="weekend" x={x(from)} y={TOP} width={x(to) - x(from)} height={BASE - TOP} />
        ))}
      <YAxis most={most} left={LEFT} right={right} y={y} format={formatNumber} limit={slots} />
      {days < 2
        ? listClockTicks(since, until).map((at) => (
            <text key={at} x={x(at)} y={SLOTS_CHART_HEIGHT - 6} text-anchor="middle">
              {formatClock(at)}
            </text>
          ))
        : ticks.map((at) => (
            <text key={at} x={x(at) + 2} y={SLOTS_CHART_HEIGHT - 6}>
              {isShort ? formatWeekday(at) : formatDay(at, now)}
            </text>
          ))}
    </g>
  );
}

/** So much room has "Wed". */
const WEEKDAY_WIDTH = 32;

/** Those whose labels overlap neither each other nor the edge. */
function fitTicks(ticks: readonly number[], x: Scale, width: number, right: number): readonly number[] {
  let free = Number.NEGATIVE_INFINITY;
  return ticks.filter((at) => {
    if (x(at) < free || x(at) + width > right) return false;
    free = x(at) + width;
    return true;
  });
}

/** So much room has a number of denials. */
const NUMBER_WIDTH = 18;

function DenialBars({
  steps,
  x,
  width,
}: {
  readonly steps: readonly Step[];
  readonly x: Scale;
  readonly width: number;
}) {
  const { lengthMs, counts } = groupDenials(steps);
  const bars = counts.filter(([, count]) => count > 0);
  const most = Math.max(1, ...bars.map(([, count]) => count));
  const room = x(lengthMs) - x(0);
  const wide = Math.max(2, Math.min(14, room * 0.4));
  return (
    <g>
      <text x={LEFT - 8} y={DENIED_BASE - 2} text-anchor="end">
        Refused
      </text>
      <path class="axis" d={`M${LEFT} ${DENIED_BASE}H${width - 4}`} />
      {bars.map(([from, count]) => {
        const height = 3 + (count / most) * 14;
        const middle = Math.min(width - 4 - wide / 2, Math.max(LEFT + wide / 2, x(from + lengthMs / 2)));
        return (
          <g key={from}>
            <rect
              class="denied"
              x={middle - wide / 2}
              y={DENIED_BASE - height}
              width={wide}
              height={height}
            />
            {room >= NUMBER_WIDTH && (
              <text class="denied" x={middle} y={DENIED_BASE - height - 4} text-anchor="middle">
                {formatNumber(count)}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}

function titleOf(at: number, stepMs: number): string {
  const now = readNow();
  if (stepMs >= DAY_MS) return formatDay(at, now);
  return `${formatMoment(at, now)} to ${formatClock(at + stepMs)}`;
}
