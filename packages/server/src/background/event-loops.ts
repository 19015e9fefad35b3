import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import type { EventFeed } from '../services/events/event-feed.ts';
import type { Notices } from '../services/events/notices.ts';
import type { Webhooks } from '../services/events/webhooks.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** How late somebody who follows the events may hear of one. */
const POLL_INTERVAL_MS = 500;

/** Proxies cut what is silent for longer, half a minute at the earliest. */
const BEAT_INTERVAL_MS = 15 * SECOND_MS;

const NOTICE_INTERVAL_MS = MINUTE_MS;

/** Tells those who follow the events of what is new. Without anybody it reads nothing. */
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
    onError: (error) => log.warn({ error: String(error) }, 'a sign of life could not be given'),
  });
}

/** Looks for licenses that end soon, and for a cloud that stays away. */
export function createNoticeRounds(notices: Notices, log: Log): Loop {
  return createLoop({
    intervalMs: NOTICE_INTERVAL_MS,
    async work() {
      const told = await notices.look();
      if (told > 0) log.debug({ told }, 'notices were put into the audit log');
    },
    onError: (error) => log.warn({ error: String(error) }, 'looking for notices failed; it is tried again'),
  });
}

export function createDeliveries(webhooks: Webhooks, log: Log): Loop {
  return createLoop({
    intervalMs: POLL_INTERVAL_MS,
    work: () => webhooks.deliver(),
    onError: (error) => log.debug({ error: String(error) }, 'a round of webhook deliveries failed'),
  });
}
