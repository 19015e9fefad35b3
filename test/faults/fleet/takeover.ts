import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi, type Facts } from '../../support/berth-api.ts';
import { pollUntil } from '../../support/poll.ts';
import { createRandom, pickNumber } from '../../support/random.ts';
import { findPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import { testLicense } from '../../support/test-license.ts';
import { openWebhookReceiver } from '../../support/webhook-receiver.ts';
import type { Fault, Life } from '../door/fault.ts';
import { POSTGRES } from '../door/needs.ts';
import { Fleet, patienceOf } from './fleet.ts';
import { FleetBook, hotLicense } from './fleet-book.ts';
import { FleetLoad } from './fleet-load.ts';
import { inspectFleet } from './inspect-fleet.ts';

/** Kills the server that does the background work for all, while clients ask and events are sent. */
interface TakeoverOptions {
  readonly postgres: TestPostgres;
  readonly seed: number;
  /** How often; each time the one that was killed is started again. */
  readonly cycles: number;
  readonly patience?: number;
  /** See `LoadOptions`. */
  readonly longestRestMs?: number;
  /** Between two who are denied. */
  readonly deniedIntervalMs: number;
}

interface TakeoverReport {
  readonly book: FleetBook;
  /** From the kill until another one leads. */
  readonly takeoversMs: readonly number[];
  readonly events: number;
  /** Those that came more than once. */
  readonly repeatedEvents: number;
}

const SERVERS = 3;
const CLIENTS = 24;
const TIMEOUT_MINUTES = 120;

const WORK_MS = { from: 500, to: 1500 };
const LONGEST_TAKEOVER_MS = 10_000;
const LONGEST_ANSWER_MS = 12_000;

/** Fewer events show nothing; a busy machine gets more time for them. */
const LEAST_EVENTS = 50;

/** Everybody but the first is denied, and told of. */
const FULL = testLicense(2, { product: 'full', slots: 1, timeoutMinutes: TIMEOUT_MINUTES });

type Receiver = Awaited<ReturnType<typeof openWebhookReceiver>>;

async function runTakeover(
  life: Life,
  { postgres, seed, cycles, patience = 1, longestRestMs, deniedIntervalMs }: TakeoverOptions,
): Promise<TakeoverReport> {
  const random = createRandom(seed);
  const receiver = await openWebhookReceiver(life);
  const license = hotLicense(TIMEOUT_MINUTES);
  const secret = { BERTH_WEBHOOKS_SECRET: randomBytes(32).toString('base64') };
  const fleet = await Fleet.start(life, {
    postgres,
    size: SERVERS,
    licenses: [license, FULL],
    args: ['--webhooks-url', receiver.url, '--webhooks-events', 'slot_denied'],
    envs: Array.from({ length: SERVERS }, () => secret),
  });
  const book = new FleetBook(license);
  const longestAnswerMs = patience * LONGEST_ANSWER_MS;
  const answerTimeoutMs = 2 * longestAnswerMs;
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS + 1, answerTimeoutMs });
  const tolerates = ['cut', 'unavailable'] as const;
  const limits = { tolerates, longestAnswerMs, longestRestMs };
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, ...limits });
  const denials = new Denials(api, deniedIntervalMs);
  const running = [load.run(life), denials.run(life)];
  const takeoversMs: number[] = [];
  for (let cycle = 0; cycle < cycles && book.violations.length === 0; cycle++) {
    await delay(pickNumber(random, WORK_MS));
    takeoversMs.push(await killLeader(fleet, book));
  }
  await delay(pickNumber(random, WORK_MS));
  await pollUntil('enough were denied', () => denials.count > LEAST_EVENTS + 1 || undefined);
  denials.end();
  load.end();
  await Promise.all(running);
  api.close();
  for (const ms of takeoversMs) {
    if (ms > patience * LONGEST_TAKEOVER_MS) book.violations.push(`nobody led for ${Math.round(ms)} ms`);
  }
  await inspectFleet(fleet, book);
  const events = await compareDeliveries(fleet, receiver, book);
  book.violations.push(...(await fleet.stop()));
  return { book, takeoversMs, events, repeatedEvents: receiver.ids.length - events };
}

/** Its place in the proxy's turns stays: clients meet the gap, and ask again. */
async function killLeader(fleet: Fleet, { violations }: FleetBook): Promise<number> {
  const leader = await fleet.findLeader();
  await leader.stop('SIGKILL');
  const killedMs = performance.now();
  await fleet.findLeader().catch((error: Error) => violations.push(`after a kill: ${error.message}`));
  const tookMs = performance.now() - killedMs;
  await leader.start();
  fleet.proxy.setTargets(fleet.urls);
  return tookMs;
}

/** Somebody new every time, so that each leaves an event that is sent. */
class Denials {
  readonly #api: BerthApi;
  readonly #intervalMs: number;
  /** Those that were answered. */
  count = 0;
  #isOver = false;

  constructor(api: BerthApi, intervalMs: number) {
    this.#api = api;
    this.#intervalMs = intervalMs;
  }

  end(): void {
    this.#isOver = true;
  }

  async run(life: Life): Promise<void> {
    life.after(() => this.end());
    for (let n = 0; !this.#isOver; n++) {
      const asked = this.#api.register({ product: FULL.product, user: `guest-${n}` });
      const isDenied = await asked
        .then(({ body }) => body.code === 'floating_not_available')
        .catch(() => false);
      if (isDenied) this.count += 1;
      await delay(this.#intervalMs);
    }
  }
}

const SENT = new Set(['slot_denied', 'denials_repeated']);

/** Everything in the log was sent at least once, in its order. Answers how many there are. */
async function compareDeliveries(fleet: Fleet, receiver: Receiver, book: FleetBook): Promise<number> {
  const links = await fleet.query('SELECT events FROM audit_link ORDER BY seq');
  const logged = links
    .flatMap(({ events }) => JSON.parse(events as string) as readonly Facts[])
    .filter(({ kind }) => SENT.has(kind as string))
    .map(({ kind, user }) => `${kind} ${user}`);
  const listSent = () => {
    const sent = new Map(receiver.requests.map(({ headers, body }) => [headers['berth-event-id'], body]));
    return [...sent.values()].map((body) => JSON.parse(body) as Facts);
  };
  await pollUntil('every event was sent', () =>
    listSent().length >= logged.length ? true : undefined,
  ).catch((error: Error) => book.violations.push(error.message));
  const sent = listSent().map(({ kind, user }) => `${kind} ${user}`);
  const at = logged.findIndex((event, index) => event !== sent[index]);
  if (at >= 0) book.violations.push(`event ${at} is ${logged[at]}, and ${sent[at]} was sent`);
  if (sent.length > logged.length) book.violations.push(`sent ${sent.length} of ${logged.length} events`);
  return logged.length;
}

export const takeover: Fault = {
  name: 'takeover',
  promises: [1, 2, 3, 4, 5],
  promise:
    'When the server that does the background work is killed, another one takes over and sends every event.',
  unit: 'kills of the leader',
  sizes: { small: 1, full: 20 },
  needs: [POSTGRES],
  async run({ count, seed, size, life }) {
    const postgres = await findPostgres(life);
    const report = await runTakeover(life, {
      postgres,
      seed,
      cycles: count,
      patience: patienceOf(size),
      ...(size === 'small' ? { longestRestMs: 1600, deniedIntervalMs: 100 } : { deniedIntervalMs: 20 }),
    });
    const { book, takeoversMs, events, repeatedEvents } = report;
    const facts = {
      ...book.facts(),
      'longest takeover in ms': Math.round(Math.max(...takeoversMs)),
      'events sent in order': events,
      'sent more than once': repeatedEvents,
    };
    return { count: takeoversMs.length, facts, violations: book.violations };
  },
};
