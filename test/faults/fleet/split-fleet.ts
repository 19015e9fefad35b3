import { BerthApi } from '../../support/berth-api.ts';
import { findPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import type { Control, Life, Order } from '../door/fault.ts';
import { Fleet, patienceOf } from './fleet.ts';
import { FleetBook, hotLicense } from './fleet-book.ts';
import { FleetLoad } from './fleet-load.ts';
import { openRoundRobinProxy } from './round-robin-proxy.ts';

const SERVERS = 2;
const CLIENTS = 32;
const TIMEOUT_MINUTES = 120;
const LONGEST_ANSWER_MS = 10_000;
const REQUESTS = 300;

/** What `HeldSlots` says of slots that were lent twice; other complaints do not count here. */
const LENT_TWICE = /of \d+ slots at once/;

/** Servers that do not know of each other, as if they were one: each lends all the slots. */
async function runSplitFleet(life: Life, postgres: TestPostgres, seed: number, patience: number) {
  const license = hotLicense(TIMEOUT_MINUTES);
  const start = () => Fleet.start(life, { postgres, size: 1, licenses: [license] });
  const fleets = await Promise.all(Array.from({ length: SERVERS }, start));
  const proxy = await openRoundRobinProxy(
    life,
    fleets.flatMap(({ urls }) => urls),
  );
  const book = new FleetBook(license);
  const longestAnswerMs = patience * LONGEST_ANSWER_MS;
  const api = new BerthApi(proxy.url, { connections: CLIENTS, answerTimeoutMs: 2 * longestAnswerMs });
  const load = new FleetLoad({ api, book, clients: CLIENTS, seed, tolerates: [], longestAnswerMs });
  const running = load.run(life);
  await book.waitForAnswers(REQUESTS);
  load.end();
  await running;
  api.close();
  await Promise.all(fleets.map((fleet) => fleet.stop()));
  return book.violations;
}

async function splitAgainAndAgain({ count, seed, size, life, say }: Order) {
  const postgres = await findPostgres(life);
  let found = 0;
  for (let done = 0; done < count; done++) {
    const violations = await runSplitFleet(life, postgres, seed + done, patienceOf(size));
    const violation = violations.find((one) => LENT_TWICE.test(one));
    if (violation !== undefined) found += 1;
    say(violation ?? 'nothing was found');
  }
  return { count, found };
}

export const splitFleet: Control = {
  name: 'each server has a database of its own',
  sizes: { small: 1, full: 10 },
  leastShare: 0.7,
  run: splitAgainAndAgain,
};
