import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BerthApi } from '../../support/berth-api.ts';
import { runBerth } from '../../support/berth-command.ts';
import { createRandom, pickNumber, type Random } from '../../support/random.ts';
import {
  type ServerProcess,
  seedLicenses,
  startServerProcess,
  temporaryFolder,
} from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';
import { compareWithBook } from './compare-with-book.ts';
import { SlotBook } from './slot-book.ts';
import { Storm } from './storm.ts';

/**
 * Kills the server in the middle of a storm of requests, again and again on one data folder, and compares
 * what is there after each restart with everything that was acknowledged.
 */
interface KillStormOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly data: string;
  /** The moment of a kill is drawn from so many acknowledgements. By default a long storm. */
  readonly mostAcknowledged?: number;
  /** A control: throws the write-ahead log away after each kill, which must be found out. */
  readonly losesLog?: boolean;
}

interface KillStormReport {
  readonly cycles: number;
  readonly acknowledged: number;
  /** From the start of the process to its ready line, for each restart. */
  readonly restartsMs: readonly number[];
  readonly violations: readonly string[];
}

const TIMEOUT_MINUTES = 120;
const SMALL = testLicense(1, { product: 'small', slots: 5, timeoutMinutes: TIMEOUT_MINUTES });
const LARGE = testLicense(2, { product: 'large', slots: 50, timeoutMinutes: TIMEOUT_MINUTES });
const MANY = Array.from({ length: 20 }, (_, index) =>
  testLicense(100 + index, { product: `many-${index}`, slots: 3, timeoutMinutes: TIMEOUT_MINUTES }),
);

/** A third of the requests each for the small one, the large one, and all the others together. */
const LICENSE_IDS = [
  ...MANY.map(({ id }) => id),
  ...Array<number>(MANY.length).fill(SMALL.id),
  ...Array<number>(MANY.length).fill(LARGE.id),
];

const CLIENTS = 32;
const USERS_PER_CLIENT = 4;

async function runKillStorm(options: KillStormOptions): Promise<KillStormReport> {
  const { cycles, data } = options;
  const random = createRandom(options.seed);
  const book = new SlotBook();
  const restartsMs: number[] = [];
  await seedLicenses(data, [SMALL, LARGE, ...MANY]);
  let server: ServerProcess | null = await startServerProcess({ data });
  let cycle = 0;
  try {
    while (server !== null && cycle < cycles && book.violations.length === 0) {
      cycle += 1;
      await stormAndKill(server, book, random, options.mostAcknowledged);
      if (options.losesLog === true) rmSync(join(data, 'berth.db-wal'), { force: true });
      server = await restart(data, book, restartsMs);
      if (server !== null) await inspect(server, book);
    }
    if (server !== null) await finish(server, data, book);
  } finally {
    await server?.stop('SIGKILL');
  }
  return { cycles: cycle, acknowledged: book.acknowledged, restartsMs, violations: book.violations };
}

async function restart(data: string, book: SlotBook, restartsMs: number[]): Promise<ServerProcess | null> {
  const startedMs = performance.now();
  try {
    const server = await startServerProcess({ data });
    restartsMs.push(performance.now() - startedMs);
    return server;
  } catch (error) {
    book.violations.push(`it does not start any more: ${error}`);
    return null;
  }
}

async function finish(server: ServerProcess, data: string, book: SlotBook): Promise<void> {
  const code = await server.stop();
  if (code !== 0) book.violations.push(`the server ended with ${code}`);
  const verdict = await runBerth(data, ['audit', 'verify']);
  if (verdict.code !== 0) book.violations.push(`audit verify: ${verdict.stdout}${verdict.stderr}`);
}

/** Fewer would hit a server that has hardly anything under way. */
const LEAST_ACKNOWLEDGED = 50;
const MAX_ACKNOWLEDGED_BEFORE_KILL = 400;
const MAX_MS_BEFORE_KILL = 15;

/** The moment is a number of acknowledgements and some milliseconds: it hits all phases of a commit. */
async function stormAndKill(
  server: ServerProcess,
  book: SlotBook,
  random: Random,
  mostAcknowledged = MAX_ACKNOWLEDGED_BEFORE_KILL,
): Promise<void> {
  const api = new BerthApi(server.url, { connections: CLIENTS });
  const storm = new Storm({
    api,
    book,
    licenseIds: LICENSE_IDS,
    clients: CLIENTS,
    usersPerClient: USERS_PER_CLIENT,
    seed: pickNumber(random, { from: 0, to: 2 ** 31 }),
  });
  const target = book.acknowledged + pickNumber(random, { from: LEAST_ACKNOWLEDGED, to: mostAcknowledged });
  const restMs = random() * MAX_MS_BEFORE_KILL;
  const running = storm.run();
  while (book.acknowledged < target && book.violations.length === 0) await delay(1);
  await delay(restMs);
  storm.end();
  await server.stop('SIGKILL');
  await running;
  api.close();
}

async function inspect(server: ServerProcess, book: SlotBook): Promise<void> {
  const api = new BerthApi(server.url);
  await compareWithBook(api, book);
  api.close();
}

/** The smallest, the one in the middle, and the largest. */
function summarize(numbers: readonly number[]): string {
  const sorted = numbers.map(Math.round).sort((a, b) => a - b);
  return `min ${sorted[0]}, median ${sorted[sorted.length >> 1]}, max ${sorted.at(-1)}`;
}

/** A new folder after so many, or checking its growing log would take most of the time. */
const KILLS_PER_FOLDER = 50;

/** In `npm test`. */
const SHORT_STORM = 150;

async function killAgainAndAgain({ count, seed, size, life, say }: Order): Promise<Findings> {
  const violations: string[] = [];
  const restartsMs: number[] = [];
  let kills = 0;
  let acknowledged = 0;
  while (kills < count && violations.length === 0) {
    const report = await runKillStorm({
      cycles: Math.min(KILLS_PER_FOLDER, count - kills),
      seed: seed + kills,
      data: temporaryFolder(life),
      ...(size === 'small' ? { mostAcknowledged: SHORT_STORM } : {}),
    });
    kills += report.cycles;
    acknowledged += report.acknowledged;
    restartsMs.push(...report.restartsMs);
    violations.push(...report.violations);
    say(`${kills} kills, ${acknowledged} acknowledged`);
  }
  return { count: kills, facts: { acknowledged, 'restart in ms': summarize(restartsMs) }, violations };
}

async function loseTheLog({ count, seed, life }: Order) {
  let found = 0;
  for (let index = 0; index < count; index++) {
    const sizes = { cycles: 1, mostAcknowledged: SHORT_STORM, losesLog: true };
    const { violations } = await runKillStorm({ ...sizes, seed: seed + index, data: temporaryFolder(life) });
    if (violations.length > 0) found += 1;
  }
  return { count, found };
}

export const kill: Fault = {
  name: 'kill',
  promises: [1, 2, 5],
  promise: 'A server that is killed under load loses nothing that it acknowledged, and lends no slot twice.',
  unit: 'kills',
  sizes: { small: 2, full: 2000 },
  run: killAgainAndAgain,
  controls: [
    {
      name: 'the write-ahead log is thrown away after a kill',
      sizes: { small: 1, full: 20 },
      leastShare: 0.9,
      run: loseTheLog,
    },
  ],
};
