import type { Channel } from '../../core/notify/channel.ts';
import type { ToldTopics } from '../../core/notify/when.ts';
import { endOfLink, followerOf } from '../../core/nouns/audit-position.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { Delivery } from '../../receivers/event-receiver.ts';
import type { Store } from '../../store/store.ts';

/** What is stored with the position of a channel in the log. */
export interface ChannelMemory {
  readonly told: ToldTopics;
  /** When a message, or a test, last arrived. */
  readonly deliveredAt: Instant | null;
  /** Since when and why none arrives; `null`: the last one did. */
  readonly failing: { readonly failingAt: Instant; readonly reason: string } | null;
  /** Whom the last message did not reach, although it arrived. */
  readonly remark: string | null;
  /** When the last digest was sent, or its schedule was set. */
  readonly digestAt: Instant | null;
}

const NEW: ChannelMemory = { told: {}, deliveredAt: null, failing: null, remark: null, digestAt: null };

export function readMemory(text: string | null): ChannelMemory {
  return text === null ? NEW : { ...NEW, ...(JSON.parse(text) as Partial<ChannelMemory>) };
}

/** With what became of a message. */
export function noteDelivery(
  memory: ChannelMemory,
  delivery: Exclude<Delivery, { kind: 'stopping' }>,
  now: Instant,
): ChannelMemory {
  if (delivery.kind === 'delivered') {
    return { ...memory, deliveredAt: now, failing: null, remark: delivery.remark ?? null };
  }
  const reason = delivery.kind === 'gone' ? 'it takes no messages any more (410)' : delivery.reason;
  return { ...memory, failing: { failingAt: memory.failing?.failingAt ?? now, reason } };
}

/**
 * Where a channel begins. A new or resumed one is told of new events only; a changed one goes on where
 * it was, without its failures. `before`: as it was, `null` if it is new.
 */
export async function chooseStart(store: Store, channel: Channel, before: Channel | null) {
  const follower = followerOf(channel);
  const [newest] = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
  const stored = await store.read({ kind: 'find_follower', follower });
  const memory = before === null ? NEW : readMemory(stored?.memory ?? null);
  const { now } = await store.keepClock();
  const isNew = before === null || (before.isPaused && !channel.isPaused);
  const digestAt = isNew || before.digest !== channel.digest ? now : (memory.digestAt ?? now);
  const position = stored === null || isNew ? endOfLink(newest?.seq ?? 0) : stored.position;
  return { position, memory: JSON.stringify({ ...memory, digestAt, failing: null, remark: null }) };
}
