import { MAX_CHANNELS } from '../core/notify/channel.ts';
import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import type { Channels } from '../services/events/channels.ts';
import type { Deliveries } from '../services/events/deliveries.ts';
import type { EventFeed } from '../services/events/event-feed.ts';
import type { Notices } from '../services/events/notices.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** The maximum delay of events for subscribers. */
const POLL_INTERVAL_MS = 500;

/** Proxies close connections that are silent for half a minute or more. */
const BEAT_INTERVAL_MS = 15 * SECOND_MS;

const NOTICE_INTERVAL_MS = MINUTE_MS;

/** Sends new events to subscribers. Without any, it reads nothing. */
export function createFeedPolls(feed: EventFeed, log: Log): Loop {
  return createLoop({
    intervalMs: POLL_INTERVAL_MS,
    work: () => feed.poll(),
    onError: (error) => log.debug({ error: String(error) }, 'the events could not be read'),
  });
}

export function createFeedBeats(feed: EventFeed, log: Log): Loop {
  return createLoop({
    intervalMs: BEAT_INTERVAL_MS,
    work: () => feed.beat(),
    onError: (error) => log.warn({ error: String(error) }, 'the keep-alive of the event stream failed'),
  });
}

/** Looks for what an administrator should know: of all servers together, or of this one. */
export function createNoticeRounds(notices: Pick<Notices, 'look'>, log: Log): Loop {
  return createLoop({
    intervalMs: NOTICE_INTERVAL_MS,
    async work() {
      const added = await notices.look();
      if (added > 0) log.debug({ added }, 'notices were added to the audit log');
    },
    onError: (error) => log.warn({ error: String(error) }, 'looking for notices failed; retrying'),
  });
}

/** A message comes within this time after what it tells. */
const MESSAGE_INTERVAL_MS = SECOND_MS;

/** A loop for every channel that there may be: one that hangs delays no other. */
export function createMessageRounds(channels: Pick<Channels, 'deliver'>, log: Log): readonly Loop[] {
  return Array.from({ length: MAX_CHANNELS }, (_, place) =>
    createLoop({
      intervalMs: MESSAGE_INTERVAL_MS,
      work: () => channels.deliver(place),
      onError: (error) => log.debug({ error: String(error) }, 'a round of messages failed'),
    }),
  );
}

export function createDeliveries(deliveries: Deliveries, log: Log): Loop {
  return createLoop({
    intervalMs: POLL_INTERVAL_MS,
    work: () => deliveries.deliver(),
    onError: (error) =>
      log.debug({ error: String(error) }, `a round of deliveries to ${deliveries.called} failed`),
  });
}
