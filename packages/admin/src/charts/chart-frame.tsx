import type { ComponentChildren, Ref } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { axisSteps } from '../words/numbers.ts';
import { DAY_MS, startOfDay } from '../words/time.ts';

/** The width of an element as it is now. */
export function useWidth(first: number) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    if (box.current === null) return;
    const watch = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(240, Math.round(entry.contentRect.width)));
    });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

const LABEL_HEIGHT = 14;
/** A day such as "Mon 16 Nov", and some room before the next one. */
export const DAY_LABEL_WIDTH = 84;

interface YAxisProps {
  /** The largest value. */
  readonly most: number;
  readonly left: number;
  readonly right: number;
  readonly y: (value: number) => number;
  readonly format: (value: number) => string;
  /** A value that has its own label, next to which others have no room. */
  readonly limit?: number;
}

/** A line across the chart for each step, with its number. */
export function YAxis({ most, left, right, y, format, limit }: YAxisProps) {
  const steps = axisSteps(most).filter((step) => step <= most);
  const hasRoom = (step: number) => limit === undefined || Math.abs(y(step) - y(limit)) > LABEL_HEIGHT;
  return (
    <>
      {steps.map((step) => (
        <g key={step}>
          <path class="rule" d={`M${left} ${y(step)}H${right}`} />
          {hasRoom(step) && (
            <text x={left - 8} y={y(step) + 4} text-anchor="end">
              {format(step)}
            </text>
          )}
        </g>
      ))}
    </>
  );
}

/** What the chart says at a place. */
interface Tip {
  readonly x: number;
  readonly title: string;
  readonly rows: readonly (readonly [string, string])[];
}

interface ReadableChartProps {
  readonly label: string;
  readonly box: Ref<HTMLDivElement>;
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  /** How far down and up the place that is pointed at is marked. */
  readonly top: number;
  readonly base: number;
  readonly count: number;
  readonly tip: (index: number) => Tip;
  readonly children: ComponentChildren;
}

/** A chart that is read by pointing, touching or with arrow keys. */
export function ReadableChart(props: ReadableChartProps) {
  const { label, box, width, height, left, right, top, base, count, tip, children } = props;
  /** Which of the values is pointed at; `null`: none. */
  const [index, setIndex] = useState<number | null>(null);
  const pointed = index === null || index >= count ? null : tip(index);
  const point = (event: PointerEvent & { currentTarget: SVGSVGElement }) => {
    const { left: from, width: wide } = event.currentTarget.getBoundingClientRect();
    const x = ((event.clientX - from) / wide) * width;
    const share = (x - left) / Math.max(1, right - left);
    setIndex(share < 0 || share > 1 ? null : Math.min(count - 1, Math.floor(share * count)));
  };
  const move = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (event.key === 'Escape') setIndex(null);
    if (by === 0) return;
    event.preventDefault();
    setIndex(Math.max(0, Math.min(count - 1, (index ?? (by > 0 ? -1 : count)) + by)));
  };
  return (
    <div class="chart-box" ref={box}>
      <svg
        class="chart"
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        role="img"
        aria-label={`${label} Arrow keys read it.`}
        tabIndex={0}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => setIndex(null)}
        onKeyDown={move}
        onBlur={() => setIndex(null)}
      >
        {children}
        {pointed !== null && <path class="cursor" d={`M${pointed.x} ${top}V${base}`} />}
      </svg>
      {pointed !== null && <ChartTip {...pointed} width={width} />}
    </div>
  );
}

/** Screen readers hear it, too. */
function ChartTip({ x, width, title, rows }: Tip & { readonly width: number }) {
  const isLeft = x > width / 2;
  const style = isLeft ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="chart-tip" role="status" style={{ top: '24px', ...style }}>
      <b>{title}</b>
      <dl>
        {rows.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

/** Saturdays and Sundays between two times. */
export function listWeekends(since: number, until: number): readonly (readonly [number, number])[] {
  const spans: [number, number][] = [];
  for (let day = startOfDay(since); day < until; day = startOfDay(day + 1.5 * DAY_MS)) {
    const weekday = new Date(day).getDay();
    if (weekday !== 0 && weekday !== 6) continue;
    spans.push([Math.max(since, day), Math.min(until, startOfDay(day + 1.5 * DAY_MS))]);
  }
  return spans;
}

/** Days to name on an axis: all of them, Mondays, or the first of months. */
export function listTicks(since: number, until: number): readonly number[] {
  const days = (until - since) / DAY_MS;
  const ticks: number[] = [];
  for (let day = startOfDay(since + DAY_MS); day < until; day = startOfDay(day + 1.5 * DAY_MS)) {
    const date = new Date(day);
    const isNamed = days <= 8 || (days <= 70 ? date.getDay() === 1 : date.getDate() === 1);
    if (isNamed) ticks.push(day);
  }
  return ticks;
}
