import type { Channel } from '@berth/protocol/admin/channels';

export const KINDS: readonly (readonly [Channel['kind'], string])[] = [
  ['mail', 'Mail'],
  ['slack', 'Slack'],
  ['teams', 'Microsoft Teams'],
  ['webhook', 'Webhook with a template'],
];

export function sayKind(kind: Channel['kind']): string {
  return KINDS.find(([known]) => known === kind)?.[1] ?? kind;
}

export const DIGESTS: readonly (readonly [Channel['digest'], string])[] = [
  ['off', 'None'],
  ['daily', 'Every day, about the day before'],
  ['weekly', 'On Monday, about the week before'],
  ['monthly', 'On the 1st, about the month before'],
];

const TOPICS: Readonly<Record<string, string>> = {
  slot_denied: 'A slot is refused',
  license_nearly_full: 'A license is nearly full',
  consumption_nearly_used_up: 'Consumption is nearly used up',
  license_expiring: 'A license ends soon',
  token_expiring: 'A token ends soon',
  certificate_expiring: 'The TLS certificate ends soon',
  cloud_unreachable: 'The licensing cloud cannot be reached',
  clock_jumped: 'The clock jumped',
  disk_space_low: 'A disk fills up',
  certificate_wrong: 'The vendor’s certificate is wrong',
  backup_failed: 'A backup failed',
  groups_outdated: 'The directory does not tell who is in a group',
};

export function sayTopic(topic: string): string {
  return TOPICS[topic] ?? topic;
}

/** What it is told, and when. */
export function sayPlan(channel: Channel, topicCount: number): string {
  const { topics, quiet, quiet_weekends: weekends, digest, gap_minutes: gap } = channel;
  const told = topics.length === topicCount ? 'everything' : `${topics.length} of ${topicCount} topics`;
  const hours =
    quiet === null ? '' : `; quiet ${quiet.replace('-', '–')}${weekends ? ' and on weekends' : ''}`;
  return `${told}; at most every ${gap} min${hours}${digest === 'off' ? '' : `; ${digest} digest`}`;
}

/** The hours of a text such as 20:00-07:00. */
export function splitQuiet(quiet: string | null): readonly [from: string, to: string] {
  const [from = '', to = ''] = quiet?.split('-') ?? [];
  return [from, to];
}
