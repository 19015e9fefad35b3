/**
 * The dates of the v4 API. Read as UTC whatever the host's zone: RFC 3339, and the shorter forms that clients
 * send: a space for the `T`, no seconds, no time at all. RFC 3339 bounds no fraction; we keep milliseconds.
 */
const FORM = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?)?$/i;

/** What clients send if it is not set. */
const NOT_SET_YEAR = 1;

/** The last instant with a year of four digits. Vendors write "for ever" as the end of 9999, in any zone. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Milliseconds since 1970, `null` if not set, or `undefined` if the text is not a date. */
export function parseTimestamp(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const match = FORM.exec(trimmed);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as Six;
  if (year === NOT_SET_YEAR && month === 1 && day === 1) return null;
  const millis = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const utc = utcMillis([year, month, day, hour, minute, second], millis);
  const offset = zoneOffsetMillis(match[8] ?? 'Z');
  return utc === undefined || offset === undefined ? undefined : Math.min(utc - offset, LAST_MS);
}

type Six = [year: number, month: number, day: number, hour: number, minute: number, second: number];

/** `undefined` for days and times that do not exist, which `Date` would roll over into the next month. */
function utcMillis([year, month, day, hour, minute, second]: Six, millis: number): number | undefined {
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const midnight = new Date(Date.UTC(2000, month - 1, day));
  midnight.setUTCFullYear(year, month - 1, day);
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + millis;
}

/** `undefined` for an invalid offset. */
function zoneOffsetMillis(zone: string): number | undefined {
  if (zone.length === 1) return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/**
 * The only form in which we write dates: ISO 8601, UTC, three fraction digits. A grace period may lead beyond
 * the last instant.
 */
export function formatTimestamp(millis: number): string {
  return new Date(Math.min(millis, LAST_MS)).toISOString();
}

const OWN_FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Whether `formatTimestamp` wrote it. */
export function isTimestamp(text: string): boolean {
  return OWN_FORM.test(text);
}

/** The instant in local time, to the second: `2026-11-15 20:56:03 +01:00`. */
export function formatLocalTime(millis: number): string {
  const ahead = -new Date(millis).getTimezoneOffset();
  const clock = new Date(millis + ahead * 60_000).toISOString().replace('T', ' ').slice(0, -'.000Z'.length);
  const two = (count: number) => String(Math.floor(count)).padStart(2, '0');
  const offset = `${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}`;
  return `${clock} ${ahead < 0 ? '-' : '+'}${offset}`;
}
