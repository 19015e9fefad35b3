import { windowStartMillis } from '@berth/protocol/api/consumption-window';
import { HOUR_MS, type Instant, instant, MINUTE_MS, plus, say } from '../nouns/instant.ts';
import { CRITICAL_TOPICS, type Topic } from '../nouns/topics.ts';
import { fromWall, wallTime } from '../rules/local-time.ts';
import { isWithin } from '../rules/times.ts';
import type { Channel, Digest } from './channel.ts';

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

/** 08:00. */
const DIGEST_MS = 8 * HOUR_MS;

/** The day, week or month that a digest is about, from midnight to midnight in the zone of its channel. */
export interface DigestPeriod {
  readonly schedule: Exclude<Digest, 'off'>;
  readonly since: Instant;
  readonly until: Instant;
  /** Of its first day, such as 2030-01-14. */
  readonly date: string;
}

/** What a digest that is due is about: of the periods since the last digest, only the latest is told. */
export function findDueDigest(
  channel: Pick<Channel, 'quiet' | 'zone' | 'digest'>,
  lastAt: Instant,
  now: Instant,
): DigestPeriod | null {
  const { zone, digest: schedule } = channel;
  if (schedule === 'off' || isQuiet(channel, now)) return null;
  const end = windowStartMillis(schedule, wallTime(zone, now) - DIGEST_MS);
  if (lastAt <= now && fromWall(zone, end + DIGEST_MS) <= lastAt) return null;
  const start = windowStartMillis(schedule, end - 1);
  const date = say(instant(start)).slice(0, 10);
  return { schedule, date, since: fromWall(zone, start), until: fromWall(zone, end) };
}
