import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BerthApi } from '../../support/berth-api.ts';
import { runBerth } from '../../support/berth-command.ts';
import { createRandom, makeUpSeed, pickNumber, type Random } from '../../support/random.ts';
import { type ServerProcess, seedLicenses, startServerProcess } from '../../support/server-process.ts';
import { testLicense } from '../../support/test-license.ts';
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

export async function runKillStorm(options: KillStormOptions): Promise<KillStormReport> {
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
export const LEAST_ACKNOWLEDGED = 50;
const MAX_ACKNOWLEDGED_BEFORE_KILL = 1500;
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

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The smallest, the one in the middle, and the largest. */
function summarize(numbers: readonly number[]): string {
  const sorted = numbers.map(Math.round).sort((a, b) => a - b);
  return `min ${sorted[0]}, median ${sorted[sorted.length >> 1]}, max ${sorted.at(-1)}`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '100' },
      seed: { type: 'string', default: String(makeUpSeed()) },
      'lose-log': { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed);
  const data = mkdtempSync(join(tmpdir(), 'berth-kill-storm-'));
  print(`seed ${seed}, data in ${data}`);
  const report = await runKillStorm({
    cycles: Number(values.cycles),
    seed,
    data,
    losesLog: values['lose-log'],
  });
  print(`cycles ${report.cycles}, acknowledged operations ${report.acknowledged}`);
  print(`restart to ready in ms: ${summarize(report.restartsMs)}`);
  print(`violations ${report.violations.length}`);
  for (const violation of report.violations.slice(0, 50)) print(`  ${violation}`);
  if (report.violations.length > 0) return 1;
  rmSync(data, { recursive: true });
  return 0;
}

if (import.meta.main) process.exitCode = await main();
