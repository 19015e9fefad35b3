import { DAY_MS, formatDate, startOfDay } from './time.ts';

/** From its first instant to the first one behind it. */
interface Span {
  readonly since: number;
  readonly until: number;
}

const RANGE = /^(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)$/;
const DAYS = /^([1-9]\d{0,3})d$/;

/**
 * A period as it stands in the address, in days of the reader: `today`, `yesterday`, the last days such as
 * `7d`, or two days with everything between them, `2026-11-02..2026-11-06`. Returns null for anything else.
 */
export function readPeriod(text: string | null, now: number): Span | null {
  const today = startOfDay(now);
  if (text === 'today') return { since: today, until: dayAfter(today) };
  if (text === 'yesterday') return { since: startOfDay(today - DAY_MS / 2), until: today };
  const days = DAYS.exec(text ?? '')?.[1];
  if (days !== undefined) {
    return { since: startOfDay(today - (Number(days) - 1.5) * DAY_MS), until: dayAfter(today) };
  }
  return readRange(text);
}

/** Two days with everything between them; null if the text is something else. */
export function readRange(text: string | null): Span | null {
  const [, from = '', to = ''] = RANGE.exec(text ?? '') ?? [];
  const [first, last] = [readDay(from), readDay(to)];
  return first === null || last === null || first > last ? null : { since: first, until: dayAfter(last) };
}

/** The start of a day such as 2026-11-02 where the reader is; null if there is no such day. */
function readDay(text: string): number | null {
  const at = text === '' ? Number.NaN : new Date(`${text}T00:00:00`).getTime();
  return Number.isNaN(at) || writeDay(at) !== text ? null : at;
}

/** The local day of an instant, as date fields write it. */
export function writeDay(at: number): string {
  const date = new Date(at);
  const two = (number: number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Such as "2 Nov to 6 Nov", or one day alone. */
export function sayRange({ since, until }: Span, now: number): string {
  const [first, last] = [formatDate(since, now), formatDate(until - 1, now)];
  return first === last ? first : `${first} to ${last}`;
}

/** Days of 23 and 25 hours included. */
function dayAfter(day: number): number {
  return startOfDay(day + 1.5 * DAY_MS);
}
