import { readFileSync } from 'node:fs';
import {
  createDeliveries,
  createFeedBeats,
  createFeedPolls,
  createNoticeRounds,
} from './background/event-loops.ts';
import { isPlainAndFar } from './cloud/open-cloud.ts';
import { type Config, ConfigError } from './config.ts';
import { SECOND_MS } from './core/instant.ts';
import { presentEvent } from './http/present-event.ts';
import type { CloudLink } from './services/cloud-link.ts';
import { createEventFeed, type EventFeed } from './services/event-feed.ts';
import { createNotices, type Notices } from './services/notices.ts';
import { createWebhooks, type Webhooks } from './services/webhooks.ts';
import { systemClock } from './store/clock.ts';
import type { Store } from './store/store.ts';
import type { Log } from './telemetry/log.ts';
import { createHttpWebhooks } from './webhooks/http-webhooks.ts';
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

const TIMEOUT_MS = 10 * SECOND_MS;

/** The receiver that is configured; `null` for none. What cannot be used is a reason not to start. */
function openReceiver({ config, env, version }: EventOptions, signal: AbortSignal): WebhookReceiver | null {
  const { url, secretFile } = config.webhooks;
  if (url === '') return null;
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new ConfigError('"webhooks.url" must be an address that begins with https:// (or http://).');
  }
  return createHttpWebhooks({
    url: parsed.href,
    secret: readSecret(env.BERTH_WEBHOOKS_SECRET ?? '', secretFile),
    userAgent: `Berth/${version}`,
    timeoutMs: TIMEOUT_MS,
    signal,
    readWall: systemClock.readWall,
    present: ({ licenseId, at, event }) => {
      const { seq: _, ...facts } = presentEvent({ seq: 0, chain: licenseId ?? 0, at }, event);
      return facts;
    },
  });
}

/** Shorter ones could be guessed by whoever has seen a signature. */
const MIN_SECRET_LENGTH = 32;

function readSecret(value: string, file: string): string {
  if (value === '' && file === '') {
    throw new ConfigError(
      '"webhooks.url" needs a secret that events are signed with, so that the receiver can tell them from ' +
        'forged ones. Make one up (openssl rand -hex 32), and set BERTH_WEBHOOKS_SECRET or ' +
        '"webhooks.secretFile".',
    );
  }
  const secret = value === '' ? readSecretFile(file) : value.trim();
  if (secret.length >= MIN_SECRET_LENGTH) return secret;
  throw new ConfigError(
    `The webhook secret is shorter than ${MIN_SECRET_LENGTH} characters. Make one up: openssl rand -hex 32.`,
  );
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`"webhooks.secretFile" cannot be read: ${(error as Error).message}.`);
  }
}
