/** Times and spans as the page writes them: local, 24 hours, with the weekday while it helps. */

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** Up to here a date needs its weekday; later ones need their year instead. */
const NEAR_MS = 60 * DAY_MS;

function two(number: number): string {
  return String(number).padStart(2, '0');
}

/** Such as 14:38. */
export function formatClock(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Such as 14:38:05. */
export function formatSeconds(at: number): string {
  return `${formatClock(at)}:${two(new Date(at).getSeconds())}`;
}

/** Such as Thu 26 Nov, or 31 Mar 2027 if it is far. */
export function formatDay(at: number, now: number): string {
  const date = new Date(at);
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`;
  const isNear = Math.abs(at - now) < NEAR_MS;
  return isNear ? `${WEEKDAYS[date.getDay()]} ${day}` : `${day} ${date.getFullYear()}`;
}

export function formatWeekday(at: number): string {
  return WEEKDAYS[new Date(at).getDay()] ?? '';
}

/** Without the weekday: 26 Nov, or 26 Nov 2027 in another year. */
export function formatDate(at: number, now: number): string {
  const date = new Date(at);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${isThisYear ? '' : ` ${date.getFullYear()}`}`;
}

export function isSameDay(one: number, other: number): boolean {
  return new Date(one).toDateString() === new Date(other).toDateString();
}

/** Such as 14:38 today, or else Mon 16 Nov, 08:04. */
export function formatMoment(at: number, now: number): string {
  return isSameDay(at, now) ? formatClock(at) : `${formatDay(at, now)}, ${formatClock(at)}`;
}

/** For pointing at a time: 2026-11-16 08:04:05 UTC. */
export function formatUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A length of time in its largest unit: 9 min, 3 hours, 11 days. */
export function formatSpan(ms: number): string {
  const minutes = Math.round(ms / MINUTE_MS);
  if (minutes < 1) return 'less than a minute';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(ms / HOUR_MS);
  if (hours < 24) return plural(hours, 'hour');
  return plural(Math.round(ms / DAY_MS), 'day');
}

/** Exact enough to add up: 37 h 55 min. */
export function formatDuration(ms: number): string {
  const minutes = Math.round(ms / MINUTE_MS);
  const hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} min`;
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** Such as `in 3 days` or `2 hours ago`. */
export function formatDistance(at: number, now: number): string {
  return at >= now ? `in ${formatSpan(at - now)}` : `${formatSpan(now - at)} ago`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** The start of the local day. */
export function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

/** The name of the time zone, such as CET. */
export function zoneName(at: number): string {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(at);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'local time';
}

const TIMESTAMP = /\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** A sentence of the server with its times in the zone of the reader. */
export function localizeTimes(text: string, now: number): string {
  return text.replace(TIMESTAMP, (found) => formatMoment(Date.parse(found), now));
}

const TICK_MINUTES = [1, 2, 5, 10, 15, 30, 60, 180];
const MAX_TICKS = 8;

/** Round times to name on the axis of a day or less. */
export function listClockTicks(since: number, until: number): readonly number[] {
  const minutes = TICK_MINUTES.find((one) => (until - since) / MINUTE_MS / one <= MAX_TICKS) ?? 180;
  const step = minutes * MINUTE_MS;
  const first = Math.ceil(since / step) * step;
  return Array.from({ length: Math.floor((until - first) / step) + 1 }, (_, index) => first + index * step);
}
