import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi } from '../../support/berth-api.ts';
import { pollUntil } from '../../support/poll.ts';
import { createRandom, pickNumber, type Random } from '../../support/random.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { findPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import type { Fault, Findings, Life, Order } from '../door/fault.ts';
import { POSTGRES } from '../door/needs.ts';
import { Fleet, patienceOf } from './fleet.ts';
import { FleetBook, hotLicense } from './fleet-book.ts';
import { FleetLoad } from './fleet-load.ts';
import { inspectFleet } from './inspect-fleet.ts';

/** Stops one of two servers in the middle of a transaction, and lets it go on when the world has moved. */
interface StoppedServerOptions {
  readonly postgres: TestPostgres;
  readonly seed: number;
  /** How long it is stopped. A slot lives for a minute without a heartbeat. */
  readonly seconds: number;
  readonly patience?: number;
  /** See `LoadOptions`. */
  readonly longestRestMs?: number;
}

interface StoppedServerReport {
  readonly book: FleetBook;
  /** From the stop until the other one has decided something. */
  readonly waitedMs: number;
  /** What the other one has acknowledged meanwhile. */
  readonly acknowledgedMeanwhile: number;
}

const CLIENTS = 32;
const TIMEOUT_MINUTES = 1;

const WORK_MS = { from: 500, to: 1500 };
const WORK_AFTERWARDS_MS = 2000;

/** The database ends a transaction that says nothing for five seconds; others have its locks then. */
const LONGEST_WAIT_MS = 7000;

/** Besides the time that a server is stopped, in which it answers nobody. */
const LONGEST_ANSWER_MS = 12_000;

/** Fewer answers while one is stopped show nothing; a busy machine gets more time for them. */
const LEAST_ANSWERS = 50;

async function runStoppedServer(
  life: Life,
  { postgres, seed, seconds, patience = 1, longestRestMs }: StoppedServerOptions,
): Promise<StoppedServerReport> {
  const random = createRandom(seed);
  const license = hotLicense(TIMEOUT_MINUTES);
  const fleet = await Fleet.start(life, { postgres, size: 2, licenses: [license] });
  const book = new FleetBook(license);
  const longestAnswerMs = seconds * 1000 + patience * LONGEST_ANSWER_MS;
  const answerTimeoutMs = 2 * longestAnswerMs;
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS, answerTimeoutMs });
  // Who waits for a lock as long as the database lets the stopped server keep it may give up just before.
  const tolerates = ['unavailable'] as const;
  const rules = { tolerates, longestAnswerMs, longestRestMs };
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, ...rules });
  const running = load.run(life);
  const stopped = await fleet.findLeader();
  const other = fleet.servers.find((server) => server !== stopped) as ServerUnderTest;
  await delay(pickNumber(random, WORK_MS));
  await stopInTransaction(fleet, stopped, other, random);
  const endsMs = performance.now() + seconds * 1000;
  const longestWaitMs = patience * LONGEST_WAIT_MS;
  const waitedMs = await measureWait(other, longestWaitMs);
  const before = book.acknowledged;
  if (waitedMs > longestWaitMs) book.violations.push(`the other one waited ${Math.round(waitedMs)} ms`);
  else {
    await delay(Math.max(0, endsMs - performance.now()));
    await book.waitForAnswers(before + LEAST_ANSWERS);
    await fleet.waitUntilLeading(other);
  }
  const acknowledgedMeanwhile = book.acknowledged - before;
  process.kill(stopped.pid, 'SIGCONT');
  fleet.proxy.setTargets(fleet.urls);
  await pollUntil('it works again', async () => ((await isDeciding(stopped)) ? true : undefined));
  await delay(WORK_AFTERWARDS_MS);
  load.end();
  await running;
  api.close();
  await fleet.findLeader();
  await inspectFleet(fleet, book);
  book.violations.push(...(await fleet.stop()));
  return { book, waitedMs, acknowledgedMeanwhile };
}

const STOP_ATTEMPTS = 200;

/** A transaction of a server that runs is not silent for so long. */
const SILENCE_MS = 100;

const FIND_SILENT = `SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'
  AND datname = current_database() AND state_change < clock_timestamp() - interval '${SILENCE_MS} ms'`;

/** At random moments, until one is in the middle of a transaction, whose locks it then holds. */
async function stopInTransaction(
  fleet: Fleet,
  { pid }: ServerUnderTest,
  other: ServerUnderTest,
  random: Random,
): Promise<void> {
  for (let attempt = 0; attempt < STOP_ATTEMPTS; attempt++) {
    process.kill(pid, 'SIGSTOP');
    // Otherwise all clients would soon wait for this one, and none would ask the other.
    fleet.proxy.setTargets([other.url]);
    await delay(SILENCE_MS * 2);
    if ((await fleet.query(FIND_SILENT)).length > 0) return;
    process.kill(pid, 'SIGCONT');
    fleet.proxy.setTargets(fleet.urls);
    await delay(random() * SILENCE_MS);
  }
  throw new Error('The server was never in the middle of a transaction.');
}

async function measureWait(other: ServerUnderTest, longestMs: number): Promise<number> {
  const stoppedMs = performance.now();
  for (;;) {
    const hasGoneOn = await isDeciding(other);
    const waitedMs = performance.now() - stoppedMs;
    if (hasGoneOn || waitedMs > longestMs) return waitedMs;
    await delay(POLL_MS);
  }
}

const POLL_MS = 50;

/** It is decided under the lock of the license, and changes nothing. */
async function isDeciding({ api }: ServerUnderTest): Promise<boolean> {
  const { status } = await api.post('/api/v4/unregister', { product: 'hot', user: 'nobody' });
  return status !== 503;
}

/** Longer than the database lets a transaction say nothing, and once in a while longer than a slot lives. */
const STOPPED_SECONDS = { from: 6, to: 9 };
const LONG_SECONDS = 70;
const LONG_EVERY = 10;

async function stopAgainAndAgain({ count, seed, size, life, say }: Order): Promise<Findings> {
  const postgres = await findPostgres(life);
  const random = createRandom(seed);
  const violations: string[] = [];
  let [acknowledged, longestWaitMs, stops] = [0, 0, 0];
  while (stops < count && violations.length === 0) {
    stops += 1;
    const report = await runStoppedServer(life, {
      postgres,
      seed: seed + stops,
      seconds: stops % LONG_EVERY === 0 ? LONG_SECONDS : pickNumber(random, STOPPED_SECONDS),
      patience: patienceOf(size),
      ...(size === 'small' ? { longestRestMs: 800 } : {}),
    });
    acknowledged += report.acknowledgedMeanwhile;
    longestWaitMs = Math.max(longestWaitMs, report.waitedMs);
    violations.push(...report.book.violations);
    say(`${stops} stops`);
  }
  const facts = {
    'acknowledged by the other server': acknowledged,
    'longest wait of the other server in ms': Math.round(longestWaitMs),
  };
  return { count: stops, facts, violations };
}

export const pauseFleet: Fault = {
  name: 'pause-fleet',
  promises: [1, 3, 4, 5],
  promise:
    'A server that is paused within a transaction delays the others briefly, and does no harm afterwards.',
  unit: 'pauses',
  sizes: { small: 1, full: 50 },
  needs: [POSTGRES],
  run: stopAgainAndAgain,
};
