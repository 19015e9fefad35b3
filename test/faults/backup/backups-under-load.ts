import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { restore, saveBackup } from '../../support/backups.ts';
import { BerthApi } from '../../support/berth-api.ts';
import { seedLicenses, startServerProcess } from '../../support/server-process.ts';
import type { TestPostgres } from '../../support/stores/postgres.ts';
import { askDatabase, findDatabase, useDatabase } from '../../support/stores/test-stores.ts';
import { testLicense } from '../../support/test-license.ts';
import { sayFailure } from '../door/say-failure.ts';
import { findBrokenRows } from '../fleet/inspect-fleet.ts';

/**
 * Makes backups of a server under full load, then restores each: what was acknowledged before a backup was
 * asked for is in it, and nothing that was asked for only afterwards.
 */
interface LoadOptions {
  readonly folder: string;
  /** Where the data is, and where it is restored; `null`: in folders. */
  readonly postgres: TestPostgres | null;
  readonly backups: number;
  readonly clients: number;
  /** How long the load goes on without backups, to compare with. */
  readonly quietMs: number;
}

interface LoadReport {
  readonly requests: number;
  readonly bytes: number;
  readonly quiet: Latency;
  readonly busy: Latency;
  readonly violations: readonly string[];
}

interface Latency {
  readonly requests: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Longer than a client should notice. */
  readonly slow: number;
}

const SLOW_MS = 250;
const PRODUCT = 'busy';
/** As in life, most requests are heartbeats, which the audit log does not record. */
const HEARTBEATS = 10;

export async function runBackupsUnderLoad(options: LoadOptions): Promise<LoadReport> {
  const { postgres } = options;
  const [data, target] = [join(options.folder, 'data'), join(options.folder, 'restored')];
  if (postgres !== null) useDatabase(data, await postgres.createDatabase('tables'));
  if (postgres !== null) useDatabase(target, await postgres.createDatabase());
  const facts = { product: PRODUCT, type: 'consumption', slots: 100_000, timeoutMinutes: 600 } as const;
  await seedLicenses(data, [testLicense(1, { ...facts, consumption: UNLIMITED })]);
  const server = await startServerProcess({ data });
  const load = new Load(server.url, options.clients);
  try {
    const running = load.run();
    await delay(options.quietMs);
    const quiet = load.takeLatency();
    const made = await makeBackups(server.url, load, options);
    const busy = load.takeLatency();
    load.end();
    await running;
    const found: string[] = [];
    for (const backup of made) found.push(...(await checkBackup(target, data, backup)));
    const bytes = made.at(-1)?.bytes ?? 0;
    return { requests: load.requests, bytes, quiet, busy, violations: [...load.violations, ...found] };
  } finally {
    await server.stop();
  }
}

const UNLIMITED = { ...testLicense(1).consumption, unlimited: true };

interface Made {
  readonly file: string;
  readonly bytes: number;
  /** What was acknowledged when it was asked for, and asked for when it was there. */
  readonly least: number;
  readonly most: number;
}

async function makeBackups(url: string, load: Load, { folder, backups }: LoadOptions): Promise<Made[]> {
  const made: Made[] = [];
  for (let number = 0; number < backups; number++) {
    const file = join(folder, `${number}.backup`);
    const least = load.acknowledged;
    const bytes = await saveBackup(url, file).catch((error: Error) => {
      load.violations.push(`backup ${number} was not made: ${sayFailure(error.message)}`);
      return null;
    });
    if (bytes !== null) made.push({ file, bytes, least, most: load.asked });
  }
  return made;
}

/** The restore itself verifies the audit log and the numbers. */
async function checkBackup(target: string, data: string, made: Made): Promise<readonly string[]> {
  mkdirSync(target, { mode: 0o700 });
  copyFileSync(join(data, 'master.key'), join(target, 'master.key'));
  try {
    await restore(target, made.file);
    const total = await readTotal(target);
    const isRight = total >= made.least && total <= made.most;
    const wrong = isRight ? [] : [`${total} counts, not from ${made.least} to ${made.most}`];
    return [...wrong, ...(await checkDatabase(target))].map((problem) => `${made.file}: ${problem}`);
  } catch (error) {
    return [`${made.file}: ${error}`];
  } finally {
    rmSync(target, { recursive: true });
    rmSync(made.file);
  }
}

/** What else must be true of a database, which then forgets what the restore before has replaced. */
async function checkDatabase(target: string): Promise<readonly string[]> {
  if (findDatabase(target) === null) return [];
  const kept = await askDatabase(target, LIST_KEPT);
  for (const { name } of kept) await askDatabase(target, `DROP SCHEMA ${name} CASCADE`);
  return findBrokenRows((statement) => askDatabase(target, statement));
}

const LIST_KEPT = "SELECT nspname::text AS name FROM pg_namespace WHERE nspname LIKE 'berth_replaced_%'";
const READ_TOTAL = 'SELECT coalesce(sum(total), 0) AS total FROM consumption_total';

async function readTotal(target: string): Promise<number> {
  if (findDatabase(target) !== null) return Number((await askDatabase(target, READ_TOTAL))[0]?.total);
  const db = new DatabaseSync(join(target, 'berth.db'), { readOnly: true });
  try {
    return Number(db.prepare(READ_TOTAL).get()?.total);
  } finally {
    db.close();
  }
}

/** Clients that register, send heartbeats, count and give back, as fast as they can. */
class Load {
  readonly violations: string[] = [];
  requests = 0;
  asked = 0;
  acknowledged = 0;
  readonly #api: BerthApi;
  readonly #clients: number;
  #timesMs: number[] = [];
  #isOn = true;

  constructor(url: string, clients: number) {
    this.#api = new BerthApi(url, { connections: clients });
    this.#clients = clients;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#clients }, (_, client) => this.#work(client)));
    this.#api.close();
  }

  end(): void {
    this.#isOn = false;
  }

  takeLatency(): Latency {
    const sorted = this.#timesMs.sort((a, b) => a - b);
    this.#timesMs = [];
    const at = (part: number) => Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
    const slow = sorted.filter((ms) => ms > SLOW_MS).length;
    return { requests: sorted.length, medianMs: at(0.5), p99Ms: at(0.99), maxMs: at(1), slow };
  }

  async #work(client: number): Promise<void> {
    for (let round = 0; this.#isOn; round++) {
      const user = `user-${client}-${round % 50}`;
      for (let beat = 0; beat < HEARTBEATS; beat++) await this.#ask('register', { product: PRODUCT, user });
      this.asked += 1;
      await this.#ask('add_consumption', { product: PRODUCT, consumptions: 1 });
      this.acknowledged += 1;
      if (round % 3 === 0) await this.#ask('unregister', { product: PRODUCT, user });
    }
  }

  async #ask(path: string, body: Readonly<Record<string, unknown>>): Promise<void> {
    const startedMs = performance.now();
    const { status, text } = await this.#api.post(`/api/v4/${path}`, body);
    this.#timesMs.push(performance.now() - startedMs);
    this.requests += 1;
    if (status !== 200) this.violations.push(`${path}: ${status} ${text}`);
  }
}
