import { hostname } from 'node:os';
import {
  createDeliveries,
  createFeedBeats,
  createFeedPolls,
  createNoticeRounds,
} from '../background/event-loops.ts';
import { isPlainAndFar } from '../cloud/open-cloud.ts';
import type { Config } from '../config.ts';
import { presentEvent } from '../http/reply/present-event.ts';
import type { Certificates } from '../services/certificates/certificates.ts';
import type { CloudLink } from '../services/cloud/cloud-link.ts';
import { createEventFeed, type EventFeed } from '../services/events/event-feed.ts';
import { createNotices, type Notices } from '../services/events/notices.ts';
import { createServerNotices } from '../services/events/server-notices.ts';
import { Webhooks } from '../services/events/webhooks.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { openWebhooks } from '../webhooks/open-webhooks.ts';
import type { WebhookReceiver } from '../webhooks/webhooks.ts';
import type { Loops } from './compose-loops.ts';
import type { ServerEnvironment } from './serve-options.ts';

/** Everything that reports events. */
export interface EventParts {
  readonly feed: EventFeed;
  readonly notices: Notices;
  readonly webhooks: Webhooks;
  /** The loops of a running server, once the log is ready. */
  begin(): Promise<Loops>;
  /** There may be new events, so poll now. */
  wake(): void;
  /** Ends the event streams. */
  close(): Promise<void>;
}

interface EventOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `false` for commands that open the data of a stopped server. */
  readonly isServing: boolean;
  readonly cloudLink: CloudLink;
  readonly certificates: Certificates | null;
  readonly environment: ServerEnvironment;
}

export function composeEvents(store: Store, options: EventOptions, log: Log): EventParts {
  const { config, isServing, cloudLink, certificates } = options;
  const { readWall, readMonotonicMs } = options.environment.clock;
  const cutOff = new AbortController();
  const feed = createEventFeed(store);
  const notices = createNotices({ store, cloudLink, readWall, ...config.notices });
  const serverNotices = createServerNotices({
    store,
    hostname: hostname(),
    folder: config.data,
    readWall,
    readCertificate: () => certificates?.describe() ?? null,
    ...config.notices,
  });
  const webhooks = new Webhooks({
    store,
    receiver: isServing ? openReceiver(options, cutOff.signal) : null,
    isOn: config.webhooks.url !== '',
    topics: config.webhooks.events,
    log,
    readMonotonicMs,
  });
  const polls = createFeedPolls(feed, log);
  const deliveries = createDeliveries(webhooks, log);
  return {
    feed,
    notices,
    webhooks,
    async begin() {
      const always = [polls, createFeedBeats(feed, log), createNoticeRounds(serverNotices, log)];
      const leading = [createNoticeRounds(notices, log)];
      if (config.webhooks.url === '') return { always, leading };
      if (isPlainAndFar(config.webhooks)) log.warn('webhooks.url is http: events can be read on the network');
      await webhooks.begin();
      return { always, leading: [...leading, deliveries] };
    },
    wake() {
      polls.wake();
      deliveries.wake();
    },
    async close() {
      feed.close();
      cutOff.abort();
    },
  };
}

function openReceiver(
  { config, env, environment }: EventOptions,
  signal: AbortSignal,
): WebhookReceiver | null {
  return openWebhooks(config.webhooks, {
    givenSecret: env.BERTH_WEBHOOKS_SECRET ?? '',
    userAgent: `Berth/${environment.version}`,
    signal,
    readWall: environment.clock.readWall,
    present: ({ licenseId, at, event }) => {
      const { seq: _, ...facts } = presentEvent({ seq: 0, chain: licenseId ?? 0, at }, event);
      return facts;
    },
  });
}
