import type { PostAnswer } from '@berth/protocol/admin/admin-api';
import { plural } from './time.ts';

export type Replay = PostAnswer<'/api/admin/rules/try'>;

type Change = Replay['changes'][number];

/** A person whom the rules would have answered differently. */
export interface Affected {
  readonly user: string;
  readonly times: number;
  /** The latest hour of it. */
  readonly at: string;
  readonly product: string;
  readonly rule: string | null;
  readonly line: number | null;
}

/** Those who would have got this answer instead of the other, the most frequent first. */
export function listAffected({ changes }: Replay, would: Change['would']): readonly Affected[] {
  const byUser = Map.groupBy(
    changes.filter((change) => change.would === would),
    ({ user, product, line }) => JSON.stringify([user, product, line]),
  );
  return [...byUser.values()]
    .map((list) => {
      const [latest] = list.toSorted((one, other) => other.at.localeCompare(one.at)) as [Change];
      const { user, at, product, rule, line } = latest;
      return { user, at, product, rule, line, times: list.reduce((sum, { times }) => sum + times, 0) };
    })
    .sort((one, other) => other.times - one.times || one.user.localeCompare(other.user));
}

/** Requests with another answer in an hour of the day, in the zone of the reader. */
interface HourOfDay {
  readonly hour: number;
  readonly refused: number;
  readonly served: number;
}

/** From the first to the last hour with a change. */
export function listHours({ hours: found }: Replay): readonly HourOfDay[] {
  const hours = Array.from({ length: 24 }, (_, hour) => ({ hour, refused: 0, served: 0 }));
  for (const { at, newly_refused: refused, newly_served: served } of found) {
    const hour = hours[new Date(at).getHours()] as (typeof hours)[number];
    hour.refused += refused;
    hour.served += served;
  }
  const isUsed = ({ refused, served }: HourOfDay) => refused + served > 0;
  return hours.slice(hours.findIndex(isUsed), hours.findLastIndex(isUsed) + 1);
}

/** How many more or fewer, with a sign that is as wide as a digit. */
export function formatChange(change: number): string {
  if (change === 0) return '0';
  return `${change > 0 ? '+' : '−'}${Math.abs(change).toLocaleString('en')}`;
}

/** The result in a few words. */
export function sayReplay({ newly_refused: refused, newly_served: served }: Replay): string {
  if (refused === 0 && served === 0) return 'Every request would have had the same answer.';
  return `${plural(served, 'request')} served instead of refused, ${refused} refused instead of served.`;
}
