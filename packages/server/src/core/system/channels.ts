import { unchanged } from '../decision.ts';
import { type Channel, MAX_CHANNELS } from '../notify/channel.ts';
import { type AuditPosition, followerOf, isAfter } from '../nouns/audit-position.ts';
import { refuse } from '../outcome.ts';
import type { PutChannel, RemoveChannel } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

export const putChannel = {
  ...ON_SERVER,
  scope: 'secrets',
  needs: ({ channel }) => ({ channels: true, cursor: followerOf(channel) }),

  decide({ channel, start, by }, { channels, cursor }: Pick<SystemFacts, 'channels' | 'cursor'>) {
    const known = channels.find(({ name }) => name === channel.name);
    const changed = known === undefined ? [] : listChanged(known, channel);
    if (known !== undefined && changed.length === 0) return unchanged();
    const others = channels.filter(({ name }) => name !== channel.name);
    if (others.length >= MAX_CHANNELS) {
      const message = `This server has ${MAX_CHANNELS} channels, which is the limit. Remove one first.`;
      return unchanged(refuse('too_many_channels', message));
    }
    const { name, target } = channel;
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [store([...others, channel]), ...begin(channel, start, cursor)],
      events: [{ kind: 'channel_set', channel: name, target: target.kind, changed, by }],
    };
  },
} satisfies SystemModule<PutChannel>;

/** With its place in the log: a channel that gets the name later is a new one. */
export const removeChannel = {
  ...ON_SERVER,
  scope: 'secrets',
  needs: () => ({ channels: true }),

  decide({ name, by }, { channels }: Pick<SystemFacts, 'channels'>) {
    const others = channels.filter((channel) => channel.name !== name);
    if (others.length === channels.length) {
      return unchanged(refuse('channel_not_found', `There is no channel "${name}".`));
    }
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [store(others), { kind: 'remove_cursor', follower: followerOf({ name }) }],
      events: [{ kind: 'channel_removed', channel: name, by }],
    };
  },
} satisfies SystemModule<RemoveChannel>;

/** A courier may have delivered more since the start was chosen. */
function begin(channel: Channel, start: PutChannel['start'], cursor: AuditPosition | null) {
  if (start === undefined) return [];
  const position = cursor !== null && isAfter(cursor, start.position) ? cursor : start.position;
  return [{ kind: 'set_cursor', follower: followerOf(channel), position, memory: start.memory } as const];
}

function store(channels: readonly Channel[]) {
  const sorted = channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { kind: 'put_secret', name: 'channels', secret: JSON.stringify(sorted) } as const;
}

/** The names of facts, without their values: some are secrets. */
function listChanged(before: Channel, after: Channel): readonly string[] {
  return (Object.keys(after) as (keyof Channel)[]).filter(
    (key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  );
}
