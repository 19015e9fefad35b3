import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { openTestStore } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { openWebhookReceiver } from '../../../../../test/support/webhook-receiver.ts';
import { composeChannels } from '../../../src/compose/compose-channels.ts';
import type { ChannelWish } from '../../../src/services/events/read-channel.ts';
import type { CurrentSettings } from '../../../src/services/settings/live-settings.ts';
import { runTaskHere } from '../../../src/services/tasks/task.ts';
import type { ManualClock } from '../../../src/store/clock.ts';
import type { Store } from '../../../src/store/store.ts';

const HOST = { hostname: null, address: null, info: null };
const TEMPLATE = '{"title":"{{title}}","text":"{{text}}","severity":"{{severity}}","id":"{{id}}"}';
const SECOND_MS = 1000;

/** Channels over real HTTP, on a clock that is moved by hand. It starts on a Tuesday at noon. */
export async function openChannels(t: TestContext, wish: ChannelWish = {}) {
  const opened = await openTestStore(t, [testLicense(1, { slots: 1 })]);
  const { store, clock } = opened;
  const receiver = await openWebhookReceiver(t);
  const create = () => startChannels(t, store, clock);
  const channels = create();
  await channels.put('ops', { kind: 'webhook', url: receiver.url, template: TEMPLATE, ...wish }, 'ada');
  await lend(store, 'holder');
  return { store, clock, receiver, channels, create };
}

function startChannels(t: TestContext, store: Store, clock: ManualClock) {
  const control = new AbortController();
  t.after(() => control.abort());
  const channels = composeChannels({
    store,
    log: pino({ level: 'silent' }),
    readMonotonicMs: clock.readMonotonicMs,
    settings: {
      current: { mail: { caFile: '' }, notify: { privateAddresses: true } },
    } as unknown as CurrentSettings,
    signal: control.signal,
    isServing: true,
    runTask: runTaskHere,
    environment: { version: '1.2.3', clock },
  });
  return Object.assign(channels, {
    stop: () => control.abort(),
    /** A round of every channel, a second after the last. */
    async round() {
      clock.advance(SECOND_MS);
      await Promise.all(Array.from({ length: 20 }, (_, place) => channels.deliver(place)));
    },
  });
}

async function lend(store: Store, user: string): Promise<void> {
  await store.execute({ kind: 'borrow', product: null, licenseId: null, user, host: HOST, until: 'longest' });
}

/** The only slot is borrowed, so each is denied, with an event. */
export async function deny(store: Store, count: number, prefix = 'u'): Promise<void> {
  const users = Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  const ask = (user: string) =>
    store.execute({ kind: 'register', product: null, licenseId: null, user, host: HOST });
  for (let at = 0; at < count; at += 500) await Promise.all(users.slice(at, at + 500).map(ask));
}

export const JUMP = {
  kind: 'disk_space_low',
  hostname: 'lic-01',
  folder: '/data',
  freeMegabytes: 5,
} as const;

export function read(body: string | undefined): {
  title: string;
  text: string;
  severity: string;
  id: string;
} {
  return JSON.parse(body ?? '{}');
}
