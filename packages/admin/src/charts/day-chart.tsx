import { readNow } from '../clock.ts';
import { formatNumber } from '../words/numbers.ts';
import type { DayUse } from '../words/person.ts';
import { DAY_MS, formatDay, formatDuration, HOUR_MS } from '../words/time.ts';
import { ReadableChart, useWidth, YAxis } from './chart-frame.tsx';

const LEFT = 44;
const TOP = 14;
const BASE = 116;
const HEIGHT = 140;

/** For how many hours slots were held on each day; a dot marks denials. */
export function DayChart({ days }: { readonly days: readonly DayUse[] }) {
  const { box, width } = useWidth(720);
  const most = Math.max(1, ...days.map(({ heldMs }) => heldMs / HOUR_MS));
  const right = width - 4;
  const wide = (right - LEFT) / Math.max(1, days.length);
  const x = (place: number) => LEFT + (place + 0.5) * wide;
  const y = (hours: number) => TOP + (1 - hours / most) * (BASE - TOP);
  const now = readNow();
  const tipAt = (index: number) => {
    const { at, heldMs, denials } = days[index] as DayUse;
    const rows = [
      ['Held', formatDuration(heldMs)],
      ['Denials', formatNumber(denials)],
    ] as const;
    return { x: x(index), title: formatDay(at, now), rows };
  };
  return (
    <ReadableChart
      label={`Hours of use on each of the last ${days.length} days.`}
      {...{ box, width, right }}
      height={HEIGHT}
      left={LEFT}
      top={TOP}
      base={BASE}
      count={days.length}
      tip={tipAt}
    >
      {days.map(({ at }, place) => (
        <DayGround key={at} {...{ at, wide, x: x(place), right }} text={formatDay(at, now)} />
      ))}
      <YAxis most={most} left={LEFT} right={right} y={y} format={(hours) => `${formatNumber(hours)} h`} />
      {days.map(({ at, heldMs, denials }, place) => (
        <g key={at}>
          <rect
            class="bar-fill"
            x={x(place) - wide * 0.35}
            y={y(heldMs / HOUR_MS)}
            width={wide * 0.7}
            height={BASE - y(heldMs / HOUR_MS)}
          />
          {denials > 0 && <circle class="denied" cx={x(place)} cy={BASE - 5} r={3.5} />}
        </g>
      ))}
    </ReadableChart>
  );
}

interface DayGroundProps {
  readonly at: number;
  readonly x: number;
  readonly wide: number;
  readonly right: number;
  readonly text: string;
}

/** What a name takes. */
const NAME_WIDTH = 80;

/** Weekends are shaded, and Mondays named, or every other one where there is no room. */
function DayGround({ at, x, wide, right, text }: DayGroundProps) {
  const weekday = new Date(at - DAY_MS / 2).getUTCDay();
  if (weekday === 0 || weekday === 6) {
    return <rect class="weekend" x={x - wide / 2} y={TOP} width={wide} height={BASE - TOP} />;
  }
  const week = Math.floor(at / DAY_MS / 7);
  if (weekday !== 1 || (wide * 7 < NAME_WIDTH && week % 2 === 0)) return null;
  const isLast = x > right - NAME_WIDTH;
  return (
    <text x={isLast ? x + wide / 2 : x - wide / 2} y={HEIGHT - 6} text-anchor={isLast ? 'end' : 'start'}>
      {text}
    </text>
  );
}
