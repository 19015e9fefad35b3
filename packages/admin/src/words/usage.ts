import type { Denials, SlotHistory, SlotPoint } from '@berth/protocol/admin/history';
import { readPeriod } from './date-range.ts';
import { DAY_MS, formatSpan, HOUR_MS, MINUTE_MS, startOfDay } from './time.ts';

/** What happened in one step of time. */
export interface Step {
  readonly at: number;
  readonly average: number;
  readonly peak: number;
  readonly borrowed: number;
  readonly denials: number;
}

/**
 * Every step of the period in which the license was there: where nothing was recorded, what was in use before
 * still is. Denials of features count as well.
 */
export function fillSteps(history: SlotHistory, licenseId: number, now: number): readonly Step[] {
  const { step_ms: step } = history;
  const all = history.series.filter(({ license_id }) => license_id === licenseId);
  const series = all.find(({ feature }) => feature === null);
  if (series === undefined) return [];
  const stepOf = (at: string) => Math.floor(Date.parse(at) / step);
  const points = new Map(series.points.map((point) => [stepOf(point.at), point]));
  const denied = new Map<number, number>();
  for (const { at, denials } of all.flatMap((one) => one.points)) {
    denied.set(stepOf(at), (denied.get(stepOf(at)) ?? 0) + denials);
  }
  const first = stepOf(series.begins_at);
  const end = Math.ceil(Math.min(Date.parse(history.until), now) / step);
  let last: Pick<SlotPoint, 'in_use' | 'borrowed'> = { in_use: 0, borrowed: 0 };
  return Array.from({ length: Math.max(0, end - first) }, (_, index) => {
    const point = points.get(first + index);
    if (point !== undefined) last = point;
    const { average, peak } = point ?? { average: last.in_use, peak: last.in_use };
    const denials = denied.get(first + index) ?? 0;
    return { at: (first + index) * step, average, peak, borrowed: last.borrowed, denials };
  });
}

/** Working hours, as most people have them. */
const FROM_HOUR = 8;
const TO_HOUR = 18;

function isWorking(at: number): boolean {
  const date = new Date(at);
  const isWeekday = date.getDay() >= 1 && date.getDay() <= 5;
  return isWeekday && date.getHours() >= FROM_HOUR && date.getHours() < TO_HOUR;
}

export interface UsageFigures {
  readonly peak: number;
  /** Days on which the peak was reached, and days with any use. */
  readonly peakDays: number;
  readonly days: number;
  /** On working days, in working hours; `null`: the period has none. */
  readonly workingAverage: number | null;
  readonly denials: number;
  readonly mostBorrowed: number;
  readonly averageBorrowed: number;
}

export function summarize(steps: readonly Step[]): UsageFigures {
  const peak = Math.max(0, ...steps.map((step) => step.peak));
  const byDay = Map.groupBy(steps, ({ at }) => startOfDay(at));
  const used = [...byDay.values()].filter((day) => day.some((step) => step.peak > 0));
  const working = steps.filter(({ at }) => isWorking(at));
  return {
    peak,
    peakDays: used.filter((day) => day.some((step) => step.peak === peak)).length,
    days: used.length,
    workingAverage: working.length === 0 ? null : mean(working.map(({ average }) => average)),
    denials: steps.reduce((sum, { denials }) => sum + denials, 0),
    mostBorrowed: Math.max(0, ...steps.map(({ borrowed }) => borrowed)),
    averageBorrowed: mean(steps.map(({ borrowed }) => borrowed)),
  };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** One hour of the week: how much was in use, and how many requests were denied. */
export interface HeatCell {
  /** 0 is Monday. */
  readonly weekday: number;
  readonly hour: number;
  readonly average: number;
  readonly denials: number;
}

/** The week, hour by hour in local time; `null` if the steps are longer than an hour. */
export function heatOf(steps: readonly Step[], stepMs: number): readonly HeatCell[] | null {
  if (stepMs > HOUR_MS) return null;
  const sums = Array.from({ length: 7 * 24 }, () => ({ sum: 0, count: 0, denials: 0 }));
  for (const { at, average, denials } of steps) {
    const date = new Date(at);
    const cell = sums[((date.getDay() + 6) % 7) * 24 + date.getHours()];
    if (cell === undefined) continue;
    cell.sum += average;
    cell.count += 1;
    cell.denials += denials;
  }
  return sums.map(({ sum, count, denials }, index) => ({
    weekday: Math.floor(index / 24),
    hour: index % 24,
    average: count === 0 ? 0 : sum / count,
    denials,
  }));
}

export const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const TIGHT = 0.8;

/** When most slots are in use, in words: the days and the hours. */
export function sayTight(cells: readonly HeatCell[], slots: number): string {
  const tight = cells.filter(({ average }) => slots > 0 && average / slots >= TIGHT);
  if (tight.length === 0) {
    const wasDenied = cells.some(({ denials }) => denials > 0);
    const how = wasDenied ? 'It is tight only for moments, with denials' : 'It is never tight';
    return `${how}: less than 80 % are in use at every hour, on average.`;
  }
  const days = [...new Set(tight.map(({ weekday }) => weekday))].sort((one, other) => one - other);
  const [first = 0] = days;
  const last = days.at(-1) ?? first;
  const isRun = days.length === last - first + 1 && days.length > 2;
  const named = isRun
    ? `${WEEKDAYS[first]} to ${WEEKDAYS[last]}`
    : days.map((day) => WEEKDAYS[day]).join(', ');
  const hours = tight.map(({ hour }) => hour);
  const clock = (hour: number) => `${String(hour).padStart(2, '0')}:00`;
  return `${named}, between ${clock(Math.min(...hours))} and ${clock(Math.max(...hours) + 1)}.`;
}

const EDGES = [0.05, 0.2, 0.4, 0.6, 0.8];

/** Which of six colours a share has. */
export function heatLevel(share: number): number {
  return EDGES.filter((edge) => share >= edge).length;
}

/** Denials of each local day, or of each hour if there are few days. */
export function groupDenials(steps: readonly Step[]) {
  const isHourly = (steps.at(-1)?.at ?? 0) - (steps[0]?.at ?? 0) < 2 * DAY_MS;
  const groups = Map.groupBy(steps, ({ at }) => (isHourly ? at - (at % HOUR_MS) : startOfDay(at)));
  const counts = [...groups].map(([from, list]) => {
    return [from, list.reduce((sum, { denials }) => sum + denials, 0)] as const;
  });
  return { lengthMs: isHourly ? HOUR_MS : DAY_MS, counts };
}

/** Denials of each license, those of its features included. */
export function sumByLicense(byLicense: Denials['by_license']): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const { license_id: id, count } of byLicense) sums.set(id, (sums.get(id) ?? 0) + count);
  return sums;
}

const PERIODS = {
  '24h': { label: '24 hours', ms: DAY_MS, words: 'a day' },
  '7d': { label: '7 days', ms: 7 * DAY_MS, words: 'a week' },
  '30d': { label: '30 days', ms: 30 * DAY_MS, words: 'a month' },
  '12m': { label: '12 months', ms: 365 * DAY_MS, words: 'a year' },
} as const;

export const PERIOD_CHOICES = Object.entries(PERIODS).map(([value, { label }]) => [value, label] as const);

/** The time of a report. */
export interface ReportPeriod {
  /** As it stands in the address. */
  readonly value: string;
  readonly since: number;
  readonly until: number;
  /** Such as "a month". */
  readonly words: string;
}

/** Up to now, and rounded up, so that reading it again asks the same. */
const ROUND_MS = 5 * MINUTE_MS;

/** One of the choices, or days as `readPeriod` reads them; by default 30 days. */
export function readReportPeriod(text: string | null, now: number): ReportPeriod {
  const days = text === null || text in PERIODS ? null : readPeriod(text, now);
  if (days !== null && text !== null && days.since < now) {
    const span = days.until - days.since;
    return { value: text, words: span < 1.5 * DAY_MS ? 'a day' : formatSpan(span), ...days };
  }
  const value = text !== null && text in PERIODS ? (text as keyof typeof PERIODS) : '30d';
  const until = Math.ceil(now / ROUND_MS) * ROUND_MS;
  return { value, since: until - PERIODS[value].ms, until, words: PERIODS[value].words };
}
