import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi } from '../../support/berth-api.ts';
import type { TestPostgres } from '../../support/stores/postgres.ts';
import { Fleet, type FleetLife } from './fleet.ts';
import { FleetBook, hotLicense } from './fleet-book.ts';
import { FleetLoad } from './fleet-load.ts';
import { inspectFleet } from './inspect-fleet.ts';
import { runByHand } from './run-by-hand.ts';

/** Many clients want one license of three servers at once; nothing is in their way but each other. */
interface FleetStormOptions {
  readonly postgres: TestPostgres;
  readonly seed: number;
  readonly seconds: number;
  readonly patience?: number;
  /** Ends it earlier, once so many requests were acknowledged. */
  readonly mostAcknowledged?: number;
}

const SERVERS = 3;
const CLIENTS = 64;

/** Longer than any run, so that nothing ends by itself. */
const TIMEOUT_MINUTES = 120;

const LONGEST_ANSWER_MS = 10_000;
const POLL_MS = 50;

/** Fewer answers show nothing; a busy machine gets more time for them. */
const LEAST_ANSWERS = 500;

export async function runFleetStorm(life: FleetLife, options: FleetStormOptions): Promise<FleetBook> {
  const { postgres, seed, seconds, patience = 1, mostAcknowledged = Number.POSITIVE_INFINITY } = options;
  const longestAnswerMs = patience * LONGEST_ANSWER_MS;
  const license = hotLicense(TIMEOUT_MINUTES);
  const fleet = await Fleet.start(life, { postgres, size: SERVERS, licenses: [license] });
  const book = new FleetBook(license);
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS, answerTimeoutMs: 2 * longestAnswerMs });
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, tolerates: [], longestAnswerMs });
  const running = load.run();
  const endsMs = performance.now() + seconds * 1000;
  while (performance.now() < endsMs && book.acknowledged < mostAcknowledged) await delay(POLL_MS);
  await book.waitForAnswers(LEAST_ANSWERS);
  load.end();
  await running;
  api.close();
  await inspectFleet(fleet, book);
  book.violations.push(...(await fleet.stop()));
  return book;
}

async function main(): Promise<number> {
  return runByHand({ seconds: 60 }, async (life, postgres, options) => {
    const book = await runFleetStorm(life, { postgres, ...options });
    const first = `${SERVERS} servers, ${CLIENTS} clients, ${options.seconds} s`;
    return { lines: [first, book.describe()], violations: book.violations };
  });
}

if (import.meta.main) process.exitCode = await main();
