import { CHANNEL_API } from '@berth/protocol/admin/channels';
import { type Channel, describeTarget } from '../../../core/notify/channel.ts';
import { CRITICAL_TOPICS, TOPIC_NAMES } from '../../../core/nouns/topics.ts';
import type { ChannelState, Channels } from '../../../services/events/channels.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

const TOPICS = TOPIC_NAMES.map((name) => ({ name, critical: CRITICAL_TOPICS.includes(name) }));

export function channelRoutes(channels: Channels): readonly Route[] {
  return adminRoutes(CHANNEL_API, {
    'GET /api/admin/channels': {
      name: 'admin_channels',
      access: 'viewer',
      summary: 'The channels for messages to administrators, without secrets',
      handle: async (_, send) =>
        send({ channels: (await channels.list()).map(presentChannel), topics: TOPICS }),
    },
    'POST /api/admin/channels': {
      name: 'admin_channel_set',
      access: 'admin',
      takesPassword: true,
      summary: 'Add a channel, or change one; what is left out stays as it is',
      errors: ['too_many_channels'],
      handle: ({ body, caller }) => {
        const { name, gap_minutes: gapMinutes, quiet_weekends: quietWeekends, time_zone, ...rest } = body;
        const wish = { ...rest, gapMinutes, quietWeekends, timeZone: time_zone };
        return channels.put(name, wish, caller.actor);
      },
    },
    'POST /api/admin/channels/remove': {
      name: 'admin_channel_remove',
      access: 'admin',
      summary: 'Remove a channel',
      errors: ['channel_not_found'],
      handle: ({ body, caller }) => channels.remove(body.name, caller.actor),
    },
    'POST /api/admin/channels/test': {
      name: 'admin_channel_test',
      access: 'admin',
      summary: 'Send a test message to a channel, and say what became of it',
      errors: ['channel_not_found'],
      handle: async ({ body, caller }, send) => send(toWire(await channels.test(body.name, caller.actor))),
    },
  });
}

function presentChannel({ channel, ...state }: ChannelState) {
  const { name, target, topics, gapMinutes, quiet, zone, digest, isPaused } = channel;
  const mail = target.kind === 'mail' ? target : null;
  return {
    name,
    kind: target.kind,
    to: describeTarget(target),
    ...toWire(state),
    server: mail === null ? null : sayServer(mail),
    security: mail?.security ?? null,
    from: mail?.from ?? null,
    user: mail?.user ?? null,
    topics: [...topics],
    gap_minutes: gapMinutes,
    quiet: quiet === null ? null : `${sayMinute(quiet.from)}-${sayMinute(quiet.to)}`,
    quiet_weekends: quiet?.withWeekends ?? false,
    time_zone: zone,
    digest,
    paused: isPaused,
  };
}

function sayServer({ host, port }: Extract<Channel['target'], { kind: 'mail' }>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function sayMinute(minute: number): string {
  const two = (count: number) => String(count).padStart(2, '0');
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}
