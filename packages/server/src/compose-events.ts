import {
  createDeliveries,
  createFeedBeats,
  createFeedPolls,
  createNoticeRounds,
} from './background/event-loops.ts';
import { isPlainAndFar } from './cloud/open-cloud.ts';
import type { Config } from './config.ts';
import { presentEvent } from './http/present-event.ts';
import type { CloudLink } from './services/cloud-link.ts';
import { createEventFeed, type EventFeed } from './services/event-feed.ts';
import { createNotices, type Notices } from './services/notices.ts';
import { createWebhooks, type Webhooks } from './services/webhooks.ts';
import { systemClock } from './store/clock.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log.ts';
import { openWebhooks } from './webhooks/open-webhooks.ts';
import type { WebhookReceiver } from './webhooks/webhooks.ts';

/** Everything that tells of events. */
export interface EventParts {
  readonly feed: EventFeed;
  readonly notices: Notices;
  readonly webhooks: Webhooks;
  /** Starts what has to run beside a server, and answers how each is stopped. */
  start(): Promise<readonly (() => Promise<void>)[]>;
}

interface EventOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `false` for a command that opens the data of a stopped server. */
  readonly isServing: boolean;
  readonly cloudLink: CloudLink;
  readonly version: string;
}

export function composeEvents(store: Store, options: EventOptions, log: Log): EventParts {
  const { config, isServing, cloudLink } = options;
  const { readWall, readMonotonicMs } = systemClock;
  const cutOff = new AbortController();
  const feed = createEventFeed(store);
  const notices = createNotices({ store, cloudLink, readWall, ...config.notices });
  const webhooks = createWebhooks({
    store,
    receiver: isServing ? openReceiver(options, cutOff.signal) : null,
    isOn: config.webhooks.url !== '',
    topics: config.webhooks.events,
    log,
    readMonotonicMs,
  });
  return {
    feed,
    notices,
    webhooks,
    async start() {
      const loops = [
        createFeedPolls(feed, log),
        createFeedBeats(feed, log),
        createNoticeRounds(notices, log),
      ];
      if (config.webhooks.url !== '') {
        if (isPlainAndFar(config.webhooks)) log.warn('webhooks.url is http: events can be read on the way');
        await webhooks.begin();
        loops.push(createDeliveries(webhooks, log));
      }
      for (const loop of loops) loop.start();
      const release = async () => {
        feed.close();
        cutOff.abort();
      };
      return [release, ...loops.map((loop) => loop.stop)];
    },
  };
}

function openReceiver({ config, env, version }: EventOptions, signal: AbortSignal): WebhookReceiver | null {
  return openWebhooks(config.webhooks, {
    givenSecret: env.BERTH_WEBHOOKS_SECRET ?? '',
    userAgent: `Berth/${version}`,
    signal,
    readWall: systemClock.readWall,
    present: ({ licenseId, at, event }) => {
      const { seq: _, ...facts } = presentEvent({ seq: 0, chain: licenseId ?? 0, at }, event);
      return facts;
    },
  });
}
