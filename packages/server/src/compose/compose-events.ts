import { hostname } from 'node:os';
import {
  createDeliveries,
  createFeedBeats,
  createFeedPolls,
  createMessageRounds,
  createNoticeRounds,
} from '../background/event-loops.ts';
import { isPlainAndFar } from '../cloud/open-cloud.ts';
import { type Config, ConfigError } from '../config.ts';
import { SECOND_MS } from '../core/nouns/instant.ts';
import { presentSent } from '../http/reply/present-event.ts';
import type { EventReceiver } from '../receivers/event-receiver.ts';
import { createHttpWebhooks } from '../receivers/http-webhooks.ts';
import { refuseAddresses } from '../receivers/refused-addresses.ts';
import { readWebhookSecret } from '../receivers/webhook-secret.ts';
import type { Certificates } from '../services/certificates/certificates.ts';
import type { CloudLink } from '../services/cloud/cloud-link.ts';
import type { Channels } from '../services/events/channels.ts';
import { createEventFeed, type EventFeed } from '../services/events/event-feed.ts';
import { createNotices, type Notices } from '../services/events/notices.ts';
import { createServerNotices } from '../services/events/server-notices.ts';
import { Webhooks, type WebhookTarget } from '../services/events/webhooks.ts';
import type { CurrentSettings } from '../services/settings/live-settings.ts';
import type { RunTask } from '../services/tasks/task.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { composeChannels } from './compose-channels.ts';
import { composeForwarding, type Forwarding } from './compose-forwarding.ts';
import type { Loops } from './compose-loops.ts';
import type { ServerEnvironment } from './serve-options.ts';

/** Everything that reports events. */
export interface EventParts extends Forwarding {
  readonly feed: EventFeed;
  readonly notices: Notices;
  readonly webhooks: Webhooks;
  readonly channels: Channels;
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
  readonly settings: CurrentSettings;
  readonly cloudLink: CloudLink;
  readonly certificates: Certificates | null;
  readonly environment: ServerEnvironment;
  readonly runTask: RunTask;
}

export function composeEvents(store: Store, options: EventOptions, log: Log): EventParts {
  const { settings, cloudLink, certificates } = options;
  const { readWall, readMonotonicMs } = options.environment.clock;
  const cutOff = new AbortController();
  const feed = createEventFeed(store);
  const notices = {
    look: () => createNotices({ store, cloudLink, readWall, ...settings.current.notices }).look(),
  };
  const serverNotices = {
    look: () =>
      createServerNotices({
        store,
        hostname: hostname(),
        folder: settings.current.data,
        readWall,
        readCertificate: () => certificates?.describe() ?? null,
        ...settings.current.notices,
      }).look(),
  };
  const findTarget = createTarget(store, options, cutOff.signal);
  const webhooks = new Webhooks({ store, findTarget, log, readMonotonicMs });
  const { signal } = cutOff;
  const { isServing } = options;
  const forwarding = composeForwarding({ store, settings, log, readMonotonicMs, signal, isServing });
  const channels = composeChannels({
    store,
    settings,
    log,
    readMonotonicMs,
    signal,
    isServing,
    environment: options.environment,
    runTask: options.runTask,
  });
  const polls = createFeedPolls(feed, log);
  const followers = [webhooks.deliveries, forwarding.syslog, forwarding.eventsFile];
  const deliveries = followers.map((follower) => createDeliveries(follower, log));
  return {
    feed,
    notices,
    webhooks,
    channels,
    ...forwarding,
    async begin() {
      const always = [polls, createFeedBeats(feed, log), createNoticeRounds(serverNotices, log)];
      const leading = [createNoticeRounds(notices, log)];
      if (isPlainAndFar(settings.current.webhooks))
        log.warn('webhooks.url is http: events can be read on the network');
      if (isPlainAndFar(settings.current.syslog))
        log.warn('syslog.url has no TLS: events can be read on the network');
      const target = await findTarget();
      requireTarget(target, options, log);
      for (const follower of followers) await follower.begin();
      return { always, leading: [...leading, ...deliveries, ...createMessageRounds(channels, log)] };
    },
    wake() {
      for (const loop of [polls, ...deliveries]) loop.wake();
    },
    async close() {
      feed.close();
      cutOff.abort();
    },
  };
}

const TIMEOUT_MS = 10 * SECOND_MS;

const NO_SECRET =
  '"webhooks.url" needs a secret to sign events, so that the receiver can detect forged ones. Let the ' +
  'server make one ("berth webhook secret", or the page), or set BERTH_WEBHOOKS_SECRET or ' +
  '"webhooks.secretFile".';

/** Where events go by the settings in force: the receiver stays the same while URL and secret do. */
function createTarget(store: Store, options: EventOptions, signal: AbortSignal) {
  const { settings, env, isServing, environment } = options;
  const open = (url: string, secret: string) =>
    createHttpWebhooks({
      url,
      secret,
      userAgent: `Berth/${environment.version}`,
      refused: refuseAddresses(settings.current.notify),
      timeoutMs: TIMEOUT_MS,
      signal,
      readWall: environment.clock.readWall,
      present: presentSent,
    });
  /** From the environment or a file, which is read once. */
  let given: string | null = null;
  const findSecret = async (file: string): Promise<string> => {
    given ??= readWebhookSecret(env.BERTH_WEBHOOKS_SECRET ?? '', file);
    const secret = given ?? (await store.read({ kind: 'find_webhook_secret' }));
    if (secret === null) throw new ConfigError(NO_SECRET);
    return secret;
  };
  let last: { readonly url: string; readonly secret: string; readonly receiver: EventReceiver } | null = null;
  return async (): Promise<WebhookTarget> => {
    const { url, events: topics, secretFile } = settings.current.webhooks;
    if (url === '') return { isOn: false, receiver: null, topics, problem: null };
    const secret = await findSecret(secretFile).catch((error) => {
      if (error instanceof ConfigError) return error;
      throw error;
    });
    // A command may lack the variables of the server.
    const problem = isServing && typeof secret !== 'string' ? secret.message : null;
    if (typeof secret !== 'string') return { isOn: true, receiver: null, topics, problem };
    if (last?.url !== url || last.secret !== secret) last = { url, secret, receiver: open(url, secret) };
    return { isOn: true, receiver: last.receiver, topics, problem: null };
  };
}

/** A file that is wrong prevents a start; what was set while the server ran must not. */
function requireTarget({ problem }: WebhookTarget, { config }: EventOptions, log: Log): void {
  if (problem === null) return;
  if (config.webhooks.url !== '') throw new ConfigError(problem);
  log.warn(problem);
}
