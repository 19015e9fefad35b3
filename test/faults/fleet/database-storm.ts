import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi } from '../../support/berth-api.ts';
import { pollUntil } from '../../support/poll.ts';
import { createRandom, pickNumber, type Random } from '../../support/random.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { startPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Life, Order } from '../door/fault.ts';
import { POSTGRES } from '../door/needs.ts';
import { type AnswerGate, openAnswerGate } from './answer-gate.ts';
import { Fleet, patienceOf } from './fleet.ts';
import { FleetBook, hotLicense } from './fleet-book.ts';
import { FleetLoad } from './fleet-load.ts';
import { inspectFleet } from './inspect-fleet.ts';

/** Crashes the database under the load of two servers, again and again. */
interface DatabaseStormOptions {
  /** One that can be stopped and started. */
  readonly postgres: TestPostgres;
  readonly seed: number;
  readonly cycles: number;
  readonly patience?: number;
  /** See `LoadOptions`. */
  readonly longestRestMs?: number;
}

interface DatabaseStormReport {
  readonly book: FleetBook;
  /** From when the database took connections until each server had stored something again. */
  readonly recoveriesMs: readonly number[];
}

const SERVERS = 2;
const CLIENTS = 32;
const TIMEOUT_MINUTES = 120;

const WORK_MS = { from: 200, to: 1500 };
const OUTAGE_MS = { from: 0, to: 2000 };

/** Long enough for commits that are under way. */
const HELD_MS = { from: 0, to: 50 };

/** What became of a commit is asked for ten seconds. */
const LONGEST_ANSWER_MS = 12_000;
const LONGEST_RECOVERY_MS = 5000;

/** Fewer answers show nothing; a busy machine gets more time for them. */
const LEAST_ANSWERS = 200;

/** To ask whether a server stores things, without being in the way of the load. */
const PROBE = testLicense(2, { product: 'probe', slots: SERVERS, timeoutMinutes: TIMEOUT_MINUTES });

async function runDatabaseStorm(
  life: Life,
  { postgres, seed, cycles, patience = 1, longestRestMs }: DatabaseStormOptions,
): Promise<DatabaseStormReport> {
  const longestAnswerMs = patience * LONGEST_ANSWER_MS;
  const random = createRandom(seed);
  const license = hotLicense(TIMEOUT_MINUTES);
  // One server loses answers with every crash: what was committed then, it has to find out. The other one
  // has no proxy in its way.
  const gate = await openAnswerGate(life, postgres.port);
  const fleet = await Fleet.start(life, {
    postgres,
    size: SERVERS,
    licenses: [license, PROBE],
    databasePorts: [gate.port],
  });
  const book = new FleetBook(license);
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS, answerTimeoutMs: 2 * longestAnswerMs });
  const limits = { tolerates: ['unavailable'] as const, longestAnswerMs, longestRestMs };
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, ...limits });
  const running = load.run(life);
  const recoveriesMs: number[] = [];
  for (let cycle = 0; cycle < cycles && book.violations.length === 0; cycle++) {
    recoveriesMs.push(...(await crashOnce(fleet, gate, random)));
  }
  await delay(pickNumber(random, WORK_MS));
  await book.waitForAnswers(LEAST_ANSWERS);
  load.end();
  await running;
  api.close();
  for (const [index, server] of fleet.servers.entries()) {
    if (!server.isRunning) book.violations.push(`server ${index} has ended by itself: ${server.log}`);
  }
  for (const ms of recoveriesMs) {
    if (ms > patience * LONGEST_RECOVERY_MS)
      book.violations.push(`a server needed ${Math.round(ms)} ms to recover`);
  }
  await inspectFleet(fleet, book);
  book.violations.push(...(await fleet.stop()));
  return { book, recoveriesMs };
}

async function crashOnce(
  { postgres, servers }: Fleet,
  gate: AnswerGate,
  random: Random,
): Promise<readonly number[]> {
  await delay(pickNumber(random, WORK_MS));
  gate.holdAnswers();
  await delay(pickNumber(random, HELD_MS));
  await postgres.stop('immediate');
  gate.loseAnswers();
  await delay(pickNumber(random, OUTAGE_MS));
  await postgres.start();
  const startedMs = performance.now();
  return Promise.all(servers.map((server, index) => measureRecovery(server, `probe-${index}`, startedMs)));
}

async function measureRecovery({ api }: ServerUnderTest, user: string, startedMs: number): Promise<number> {
  await pollUntil('the server stores something again', async () => {
    const { status } = await api.register({ product: PROBE.product, user });
    return status === 200 ? true : undefined;
  });
  return performance.now() - startedMs;
}

/** A new fleet after so many, or checking its growing log would take most of the time. */
const CRASHES_PER_FLEET = 20;

async function crashAgainAndAgain({ count, seed, size, life, say }: Order): Promise<Findings> {
  const recoveriesMs: number[] = [];
  let acknowledged = 0;
  let crashes = 0;
  const violations: string[] = [];
  while (crashes < count && violations.length === 0) {
    const postgres = await startPostgres();
    life.after(() => postgres.end());
    const cycles = Math.min(CRASHES_PER_FLEET, count - crashes);
    const report = await runDatabaseStorm(life, {
      postgres,
      seed: seed + crashes,
      cycles,
      patience: patienceOf(size),
      ...(size === 'small' ? { longestRestMs: 400 } : {}),
    });
    crashes += report.recoveriesMs.length / SERVERS;
    recoveriesMs.push(...report.recoveriesMs);
    acknowledged += report.book.acknowledged;
    violations.push(...report.book.violations);
    say(`${crashes} crashes, ${acknowledged} acknowledged`);
  }
  const sorted = recoveriesMs.map(Math.round).sort((a, b) => a - b);
  const recovery = `median ${sorted[sorted.length >> 1]}, longest ${sorted.at(-1)}`;
  return { count: crashes, facts: { acknowledged, 'recovery in ms': recovery }, violations };
}

export const database: Fault = {
  name: 'database',
  promises: [1, 2, 3, 4, 5],
  promise:
    'When the database crashes under the load of two servers, nothing acknowledged is lost, and both ' +
    'recover by themselves.',
  unit: 'crashes',
  sizes: { small: 1, full: 200 },
  needs: [POSTGRES],
  run: crashAgainAndAgain,
};
