import { parseTimestamp } from '@berth/protocol/timestamp';
import { DAY_MS, HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '../nouns/instant.ts';
import { bucketStart } from './grain.ts';

const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };

/**
 * When a report begins or ends: a date, `now`, `today` or `yesterday`, which are days in UTC, or how long ago
 * it was, such as `7d` or `24h`. `null`: none of these.
 */
export function parseHistoryTime(text: string, now: Instant): Instant | null {
  const word = text.trim().toLowerCase();
  if (word === 'now') return now;
  if (word === 'today') return bucketStart(now, DAY_MS);
  if (word === 'yesterday') return plus(bucketStart(now, DAY_MS), -DAY_MS);
  const ago = /^(\d{1,5})([mhdw])$/.exec(word);
  if (ago !== null) return plus(now, -Number(ago[1]) * (UNITS[ago[2] as string] as number));
  const millis = parseTimestamp(text);
  return millis == null || millis < 0 ? null : instant(millis);
}
