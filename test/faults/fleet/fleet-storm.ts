import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi } from '../../support/berth-api.ts';
import { findPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import type { Fault, Life } from '../door/fault.ts';
import { POSTGRES } from '../door/needs.ts';
import { Fleet, patienceOf } from './fleet.ts';
import { FleetBook, hotLicense } from './fleet-book.ts';
import { FleetLoad } from './fleet-load.ts';
import { inspectFleet } from './inspect-fleet.ts';
import { splitFleet } from './split-fleet.ts';

/** Many clients want one license of three servers at once; nothing is in their way but each other. */
interface FleetStormOptions {
  readonly postgres: TestPostgres;
  readonly seed: number;
  /** It ends when so many were acknowledged. */
  readonly requests: number;
  readonly patience: number;
}

const SERVERS = 3;
const CLIENTS = 64;

/** Longer than any run, so that nothing ends by itself. */
const TIMEOUT_MINUTES = 120;

const LONGEST_ANSWER_MS = 10_000;
const POLL_MS = 50;

async function runFleetStorm(life: Life, options: FleetStormOptions): Promise<FleetBook> {
  const { postgres, seed, requests, patience } = options;
  const longestAnswerMs = patience * LONGEST_ANSWER_MS;
  const license = hotLicense(TIMEOUT_MINUTES);
  const fleet = await Fleet.start(life, { postgres, size: SERVERS, licenses: [license] });
  const book = new FleetBook(license);
  const api = new BerthApi(fleet.proxy.url, { connections: CLIENTS, answerTimeoutMs: 2 * longestAnswerMs });
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, tolerates: [], longestAnswerMs });
  const running = load.run(life);
  while (book.acknowledged < requests && book.violations.length === 0) await delay(POLL_MS);
  load.end();
  await running;
  api.close();
  await inspectFleet(fleet, book);
  book.violations.push(...(await fleet.stop()));
  return book;
}

export const fleet: Fault = {
  name: 'fleet',
  promises: [1, 3, 4, 5],
  promise:
    'Three servers on one database lend no slot twice, count each request once, and record all in one order.',
  unit: 'requests',
  sizes: { small: 300, full: 300_000 },
  needs: [POSTGRES],
  controls: [splitFleet],
  async run({ count, seed, size, life }) {
    const postgres = await findPostgres(life);
    const book = await runFleetStorm(life, { postgres, seed, requests: count, patience: patienceOf(size) });
    const idle = book.slots.most >= hotLicense(TIMEOUT_MINUTES).slots ? [] : ['the slots were not scarce'];
    return { count: book.acknowledged, facts: book.facts(), violations: [...book.violations, ...idle] };
  },
};
