import { bucketStart, type Instant, MINUTE_MS, plus } from '../nouns/instant.ts';
import { CRITICAL_TOPICS, type Topic } from '../nouns/topics.ts';
import { localTime } from '../rules/local-time.ts';
import { isWithin } from '../rules/times.ts';
import type { Channel } from './channel.ts';

/** When the last message about each topic was sent. */
export type ToldTopics = Readonly<Partial<Record<Topic, Instant>>>;

/**
 * Whether a message is due. If it is, it tells everything that waits: one topic that may be told takes the
 * others along, so that one position in the log says what was told.
 */
export function isDue(
  channel: Pick<Channel, 'gapMinutes' | 'quiet' | 'zone'>,
  waiting: readonly Topic[],
  told: ToldTopics,
  now: Instant,
): boolean {
  const isHushed = isQuiet(channel, now);
  return waiting.some((topic) => {
    if (isHushed && !CRITICAL_TOPICS.includes(topic)) return false;
    const lastAt = told[topic];
    // A clock that was set back must not silence a channel.
    return lastAt === undefined || lastAt > now || now >= plus(lastAt, channel.gapMinutes * MINUTE_MS);
  });
}

const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];
const WEEKEND = [0, 6];
const DAY_MINUTES = 24 * 60;

function isQuiet({ quiet, zone }: Pick<Channel, 'quiet' | 'zone'>, now: Instant): boolean {
  if (quiet === null) return false;
  const { from, to, withWeekends } = quiet;
  if (isWithin({ days: EVERY_DAY, from, to, zone }, now)) return true;
  return withWeekends && isWithin({ days: WEEKEND, from: 0, to: DAY_MINUTES, zone }, now);
}

const MONDAY = 1;
/** 08:00. */
const DIGEST_MINUTE = 8 * 60;
const WEEK_MINUTES = 7 * DAY_MINUTES;

/** Whether a Monday morning has come since the last digest, however long ago that was. */
export function isDigestDue(
  channel: Pick<Channel, 'quiet' | 'zone'>,
  lastAt: Instant,
  now: Instant,
): boolean {
  if (isQuiet(channel, now)) return false;
  return lastAt > now || mondayBefore(channel.zone, now) > lastAt;
}

/** The last Monday at 08:00. */
export function mondayBefore(zone: string, now: Instant): Instant {
  const near = plus(now, -minutesSince(zone, now) * MINUTE_MS);
  // If clocks have changed since then, it is an hour off.
  const off = (minutesSince(zone, near) + WEEK_MINUTES / 2) % WEEK_MINUTES;
  return bucketStart(plus(near, (WEEK_MINUTES / 2 - off) * MINUTE_MS), MINUTE_MS);
}

/** Since a Monday at 08:00, by a clock on the wall. */
function minutesSince(zone: string, at: Instant): number {
  const { day, minute } = localTime(zone, at);
  return ((day - MONDAY) * DAY_MINUTES + minute - DIGEST_MINUTE + WEEK_MINUTES) % WEEK_MINUTES;
}
