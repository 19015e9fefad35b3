import { setTimeout as delay } from 'node:timers/promises';
import { exampleLimits } from '../../../packages/server/test/core/examples.ts';
import { type Answer, BerthApi } from '../../support/berth-api.ts';
import { runBerth } from '../../support/berth-command.ts';
import { createRandom, pickNumber, pickOne, type Random } from '../../support/random.ts';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';

/**
 * Kills the server while many clients count, again and again. Each request has a key of its own and is
 * repeated under it until it is answered, so in the end everything is counted exactly once.
 */
interface CountStormOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly data: string;
  /** The moment of a kill is drawn from so many answers. By default a long storm. */
  readonly mostAnswered?: number;
  /** A control: repeats go without their key, which must be found out. */
  readonly losesKeys?: boolean;
}

interface CountStormReport {
  readonly cycles: number;
  /** Requests that were answered with 200, each counted once. */
  readonly answered: number;
  /** How often a request was sent again because it was not answered. */
  readonly repeated: number;
  readonly total: number;
  readonly violations: readonly string[];
}

const CLIENTS = 64;
const LICENSE = testLicense(1, {
  product: 'meter',
  consumption: exampleLimits({ unlimited: true }),
});

/** One request: what to add, under which name. */
interface Count {
  readonly key: string;
  readonly consumptions: number;
}

/** What was asked and answered, over all lives of the server. */
class CountBook {
  readonly violations: string[] = [];
  /** Not answered yet: to be sent again. */
  readonly open: Count[] = [];
  answered = 0;
  repeated = 0;
  sum = 0;
  readonly #totals = new Set<number>();

  acknowledge({ key, consumptions }: Count, { status, body, text }: Answer): void {
    if (status !== 200) {
      this.violations.push(`${key} was answered with ${status}: ${text}`);
      return;
    }
    this.answered += 1;
    this.sum += consumptions;
    const total = body.total_consumptions as number;
    if (this.#totals.has(total)) this.violations.push(`${key} was told the total ${total}, as another was`);
    this.#totals.add(total);
  }
}

async function runCountStorm(options: CountStormOptions): Promise<CountStormReport> {
  const { cycles, data, mostAnswered = MAX_ANSWERED_BEFORE_KILL, losesKeys = false } = options;
  const random = createRandom(options.seed);
  const book = new CountBook();
  await seedLicenses(data, [LICENSE]);
  let server = await startServerProcess({ data });
  let cycle = 0;
  let total = 0;
  try {
    while (cycle < cycles && book.violations.length === 0) {
      cycle += 1;
      await countAndKill(server, book, random, { cycle, mostAnswered, losesKeys });
      server = await startServerProcess({ data });
    }
    const api = new BerthApi(server.url, { connections: CLIENTS });
    const settle = async (count: Count) => book.acknowledge(count, await repeat(api, book, count, losesKeys));
    await Promise.all(book.open.splice(0).map(settle));
    total = await inspect(api, book);
    api.close();
    await finish(server, data, book);
  } finally {
    await server.stop('SIGKILL');
  }
  const { answered, repeated, violations } = book;
  return { cycles: cycle, answered, repeated, total, violations };
}

const MAX_ANSWERED_BEFORE_KILL = 1500;
const MAX_MS_BEFORE_KILL = 15;

/** So many answers do not reach the client, although the server lives. */
const LOST_SHARE = 0.05;

/** As in the storm of lending: a number of answers and some milliseconds, to hit all phases of a commit. */
async function countAndKill(
  server: ServerProcess,
  book: CountBook,
  random: Random,
  {
    cycle,
    mostAnswered,
    losesKeys,
  }: Required<Pick<CountStormOptions, 'mostAnswered' | 'losesKeys'>> & {
    readonly cycle: number;
  },
): Promise<void> {
  const api = new BerthApi(server.url, { connections: CLIENTS });
  const target = book.answered + pickNumber(random, { from: 50, to: mostAnswered });
  const restMs = random() * MAX_MS_BEFORE_KILL;
  const earlier = book.open.splice(0);
  let isOver = false;
  const runClient = async (client: number) => {
    for (let n = 0; !isOver; n++) {
      const again = earlier.pop();
      const fresh = { key: `${cycle}-${client}-${n}`, consumptions: pickOne(random, [1, 1, 2, 5]) };
      const count = again ?? fresh;
      const asked = again === undefined ? send(api, count, count.key) : repeat(api, book, count, losesKeys);
      const answer = await asked.catch((error: Error) => error);
      const isLost = answer instanceof Error || random() < LOST_SHARE;
      if (isLost) book.open.push(count);
      else book.acknowledge(count, answer);
    }
  };
  const running = Promise.all(Array.from({ length: CLIENTS }, (_, client) => runClient(client)));
  while (book.answered < target && book.violations.length === 0) await delay(1);
  await delay(restMs);
  isOver = true;
  await server.stop('SIGKILL');
  await running;
  book.open.push(...earlier);
  api.close();
}

function send(api: BerthApi, { consumptions }: Count, key: string): Promise<Answer> {
  const headers = { 'idempotency-key': key };
  return api.post('/api/v4/add_consumption', { product: 'meter', consumptions }, headers);
}

/** Asks again under the same key. */
function repeat(api: BerthApi, book: CountBook, count: Count, losesKeys: boolean): Promise<Answer> {
  book.repeated += 1;
  return send(api, count, losesKeys ? `${count.key}-${book.repeated}` : count.key);
}

/** The total is the sum of what was answered: nothing is lost, nothing counted twice. */
async function inspect(api: BerthApi, book: CountBook): Promise<number> {
  const { body } = await api.get('/api/v4/license?product=meter');
  const total = body.total_consumptions as number;
  if (total !== book.sum) book.violations.push(`the total is ${total}, and ${book.sum} were answered`);
  const events = await api.eventsAfter(0);
  const added = events.filter(({ kind }) => kind === 'consumption_added');
  const audited = added.reduce((sum, event) => sum + (event.count as number), 0);
  if (audited !== total) book.violations.push(`the total is ${total}, and the audit says ${audited}`);
  if (added.length !== book.answered) {
    book.violations.push(`${added.length} counts are in the audit, and ${book.answered} were answered`);
  }
  return total;
}

async function finish(server: ServerProcess, data: string, book: CountBook): Promise<void> {
  const code = await server.stop();
  if (code !== 0) book.violations.push(`the server ended with ${code}`);
  const verdict = await runBerth(data, ['audit', 'verify']);
  if (verdict.code !== 0) book.violations.push(`audit verify: ${verdict.stdout}${verdict.stderr}`);
}

/** A new folder after so many, or checking its growing log would take most of the time. */
const KILLS_PER_FOLDER = 20;
/** In `npm test`. */
const SHORT_STORM = 300;

async function killAgainAndAgain({ count, seed, size, life, say }: Order): Promise<Findings> {
  const violations: string[] = [];
  let [kills, answered, repeated] = [0, 0, 0];
  while (kills < count && violations.length === 0) {
    const report = await runCountStorm({
      cycles: Math.min(KILLS_PER_FOLDER, count - kills),
      seed: seed + kills,
      data: temporaryFolder(life),
      ...(size === 'small' ? { mostAnswered: SHORT_STORM } : {}),
    });
    kills += report.cycles;
    answered += report.answered;
    repeated += report.repeated;
    violations.push(...report.violations);
    say(`${kills} kills, ${answered} answered`);
  }
  return { count: kills, facts: { answered, repeated }, violations };
}

async function loseKeys({ count, seed, life }: Order) {
  let found = 0;
  for (let index = 0; index < count; index++) {
    const sizes = { cycles: 2, mostAnswered: SHORT_STORM, losesKeys: true };
    const report = await runCountStorm({ ...sizes, seed: seed + index, data: temporaryFolder(life) });
    if (report.violations.length > 0) found += 1;
  }
  return { count, found };
}

export const count: Fault = {
  name: 'count',
  promises: [2, 3, 5],
  promise: 'A count with an idempotency key counts once, however often the server is killed meanwhile.',
  unit: 'kills',
  sizes: { small: 1, full: 200 },
  run: killAgainAndAgain,
  controls: [
    {
      name: 'a count is repeated without its key',
      sizes: { small: 1, full: 10 },
      leastShare: 0.7,
      run: loseKeys,
    },
  ],
};
