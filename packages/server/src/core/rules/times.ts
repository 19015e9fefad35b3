import { type Instant, MINUTE_MS, plus } from '../nouns/instant.ts';
import { type LocalTime, localTime } from './local-time.ts';
import type { RuleSet, Times } from './rule-set.ts';

/** Returns whether a rule with this `during` applies now; `null`: at a time when all rules apply. */
export function isDuring({ times }: RuleSet, during: string | null, now: Instant | null): boolean {
  if (during === null || now === null) return true;
  return Object.hasOwn(times, during) && isWithin(times[during] as Times, now);
}

/** The answer for one minute, because decisions ask many times within it. */
const ANSWERS = new WeakMap<Times, { readonly minute: number; readonly isWithin: boolean }>();

export function isWithin(times: Times, now: Instant): boolean {
  const minute = Math.floor(now / MINUTE_MS);
  const known = ANSWERS.get(times);
  if (known?.minute === minute) return known.isWithin;
  const answer = { minute, isWithin: compare(times, localTime(times.zone, now)) };
  ANSWERS.set(times, answer);
  return answer.isWithin;
}

function compare({ days, from, to }: Times, { day, minute }: LocalTime): boolean {
  if (from < to) return days.includes(day) && from <= minute && minute < to;
  const dayBefore = (day + 6) % 7;
  return (days.includes(day) && from <= minute) || (days.includes(dayBefore) && minute < to);
}

const DAY_MINUTES = 24 * 60;
const WEEK_MINUTES = 7 * DAY_MINUTES;

/** When the times begin within a week, on days on which no clock changes. */
export function listStarts({ days, from, zone }: Times, week: Instant): readonly Instant[] {
  const { day: first, minute } = localTime(zone, week);
  return days.map((day) => {
    const ahead = (day - first) * DAY_MINUTES + from - minute;
    return plus(week, ((ahead + WEEK_MINUTES) % WEEK_MINUTES) * MINUTE_MS);
  });
}
