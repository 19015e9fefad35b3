import { parseTimestamp } from './timestamp.ts';

const DAY_MS = 86_400_000;

const UNIT_MS = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS } as const;

const MAX_LENGTH_MS = 3660 * DAY_MS;

/** Reads a length of time: `30s`, `90m`, `24h`, `30d`, `2w`. `undefined` if it is none, or too long. */
export function parseLength(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text.trim().toLowerCase()) ?? [];
  if (count === undefined) return undefined;
  const millis = Number(count) * (unit === 's' ? 1000 : UNIT_MS[unit as keyof typeof UNIT_MS]);
  return millis > 0 && millis <= MAX_LENGTH_MS ? millis : undefined;
}

/** What `parseMoment` reads, for messages and help. */
export const MOMENT_FORMS = 'a date, a date and time, "today", "yesterday", or a time ago such as 24h or 7d';

/**
 * Reads the start (`since`) or the end (`until`) of a period, in UTC: a date and time, a date, `today`,
 * `yesterday`, or how long ago, in minutes, hours, days or weeks: `90m`, `24h`, `7d`, `2w`. A day starts a
 * period at its first moment, and ends it after its last. The end is the first instant that does not belong
 * to the period. Returns milliseconds since 1970, or `undefined` if the text is none of these.
 */
export function parseMoment(text: string, edge: 'since' | 'until', nowMs: number): number | undefined {
  const word = text.trim().toLowerCase();
  const ago = /^(\d{1,6})([mhdw])$/.exec(word);
  if (ago !== null) return nowMs - Number(ago[1]) * UNIT_MS[ago[2] as keyof typeof UNIT_MS];
  const day = findDay(word, nowMs);
  if (day !== undefined) return edge === 'since' ? day : day + DAY_MS;
  return parseTimestamp(word) ?? undefined;
}

/** The first moment of a day that is named without a time. */
function findDay(word: string, nowMs: number): number | undefined {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  if (word === 'today') return today;
  if (word === 'yesterday') return today - DAY_MS;
  return /^\d{4}-\d\d-\d\d$/.test(word) ? (parseTimestamp(word) ?? undefined) : undefined;
}
