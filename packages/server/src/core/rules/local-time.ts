import type { Instant } from '../nouns/instant.ts';

export interface LocalTime {
  /** 0 is Sunday. */
  readonly day: number;
  /** Of the day. */
  readonly minute: number;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** To make one takes longer than to use it. */
const CLOCKS = new Map<string, Intl.DateTimeFormat>();

export function localTime(zone: string, now: Instant): LocalTime {
  const part = readParts(zone, now);
  return { day: DAYS.indexOf(part('weekday')), minute: Number(part('hour')) * 60 + Number(part('minute')) };
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
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
}
