import type { SlotPoint } from '@berth/protocol/admin/history';
import { DAY_MS, formatWeekday, HOUR_MS, startOfDay } from '../words/time.ts';

interface SparklineProps {
  readonly points: readonly SlotPoint[];
  readonly slots: number;
  readonly since: number;
  readonly until: number;
  /** In use now. */
  readonly now: number;
  readonly width?: number;
  readonly height?: number;
  /** Names the days below, and the largest number of slots. */
  readonly hasAxes?: boolean;
}

/** Slots in use over time: the limit is dotted, denials are marks below. */
export function Sparkline(props: SparklineProps) {
  const { points, slots, since, until, now, width = 148, height = 36, hasAxes = false } = props;
  const peak = Math.max(now, ...points.map((point) => point.peak));
  const most = Math.max(slots, peak, 1);
  const base = height - (hasAxes ? 22 : 6);
  const left = hasAxes ? 8 + 7 * String(most).length : 0;
  const x = (at: number) => left + ((at - since) / Math.max(1, until - since)) * (width - 4 - left);
  const y = (value: number) => 3 + (1 - value / most) * (base - 3);
  const steps = points.map((point) => [x(Math.max(since, Date.parse(point.at))), y(point.in_use)] as const);
  const [first] = steps;
  const line = steps.map(([px, py], index) => (index === 0 ? `M${px} ${py}` : `H${px}V${py}`)).join('');
  const whole = first === undefined ? `M${left} ${y(now)}H${width - 4}` : `${line}H${x(until)}V${y(now)}`;
  const start = first === undefined ? left : first[0];
  const denials = points.filter((point) => point.denials > 0);
  const hours = Math.round((until - since) / HOUR_MS);
  const label = `Last ${hours} hours: at most ${peak} in use, ${denials.length} times with denials`;
  return (
    <svg class="chart spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <path class="area" d={`${whole}V${base}H${start}z`} />
      <path class="dotted" d={`M${left} ${y(slots)}H${width - 4}`} fill="none" />
      <path class="stroke" d={whole} />
      {denials.map((point) => (
        <rect
          key={point.at}
          class="denied"
          x={x(Date.parse(point.at)) - 1}
          y={base + 2}
          width="2"
          height="4"
        />
      ))}
      {hasAxes &&
        [0, most].map((value) => (
          <text key={value} x={left - 6} y={Math.max(12, y(value) + 4)} text-anchor="end">
            {value}
          </text>
        ))}
      {hasAxes &&
        listDays(since, until).map((day) => (
          <text key={day} x={x(day + DAY_MS / 2)} y={height - 2} text-anchor="middle">
            {formatWeekday(day)}
          </text>
        ))}
      <circle class="dot" cx={width - 4} cy={y(now)} r="2" />
    </svg>
  );
}

/** The whole days between two times. */
function listDays(since: number, until: number): readonly number[] {
  const days: number[] = [];
  for (let day = startOfDay(since + DAY_MS); day + DAY_MS <= until; day = startOfDay(day + 1.5 * DAY_MS)) {
    days.push(day);
  }
  return days;
}
