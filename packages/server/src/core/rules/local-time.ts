import { DAY_MS, type Instant, instant, plus } from '../nouns/instant.ts';

export interface LocalTime {
  /** 0 is Sunday. */
  readonly day: number;
  /** Of the day. */
  readonly minute: number;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** To make one takes longer than to use it. */
const CLOCKS = new Map<string, Intl.DateTimeFormat>();

export function localTime(zone: string, now: Instant): LocalTime {
  const part = readParts(zone, now);
  return { day: DAYS.indexOf(part('weekday')), minute: Number(part('hour')) * 60 + Number(part('minute')) };
}

/** What clocks on the wall show, to the minute, written as if it were UTC. */
export function wallTime(zone: string, at: Instant): number {
  const part = readParts(zone, at);
  const count = (type: Intl.DateTimeFormatPartTypes) => Number(part(type));
  const month = MONTHS.indexOf(part('month'));
  return Date.UTC(count('year'), month, count('day'), count('hour'), count('minute'));
}

/**
 * When clocks on the wall show this, a whole minute. If they show it twice, the first time; if they leave it
 * out, when they are set forward.
 */
export function fromWall(zone: string, wall: number): Instant {
  // A day before and after, since clocks may change in between.
  const [first, second] = [-DAY_MS, DAY_MS].map((off) => {
    const near = instant(wall + off);
    return plus(near, near - wallTime(zone, near) - off);
  }) as [Instant, Instant];
  return wallTime(zone, first) !== wall && wallTime(zone, second) === wall ? second : first;
}

/** Such as "Wed 18 Nov, 14:02". */
export function sayLocal(zone: string, at: Instant): string {
  const part = readParts(zone, at);
  return `${sayLocalDay(zone, at)}, ${part('hour')}:${part('minute')}`;
}

/** Such as "Wed 18 Nov". */
export function sayLocalDay(zone: string, at: Instant): string {
  const part = readParts(zone, at);
  return `${part('weekday')} ${part('day')} ${part('month')}`;
}

/** Whether the tz database has it. */
export function isZone(text: string): boolean {
  try {
    return clockOf(text) !== null;
  } catch {
    return false;
  }
}

function readParts(zone: string, at: Instant) {
  const clock = CLOCKS.get(zone) ?? clockOf(zone);
  CLOCKS.set(zone, clock);
  const parts = new Map(clock.formatToParts(at).map(({ type, value }) => [type, value]));
  return (type: Intl.DateTimeFormatPartTypes) => parts.get(type) as string;
}

function clockOf(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'short',
    year: 'numeric',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
}
