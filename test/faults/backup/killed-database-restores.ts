import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { type AddressInfo, connect as connectSocket, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import connect from 'postgres';
import { runBerth } from '../../support/berth-command.ts';
import { pollUntil } from '../../support/poll.ts';
import { BERTH } from '../../support/program.ts';
import { withDatabase } from '../../support/stores/databases.ts';
import type { TestPostgres } from '../../support/stores/postgres.ts';
import { findDatabase } from '../../support/stores/test-stores.ts';
import { findBrokenRows } from '../fleet/inspect-fleet.ts';
import type { KillOptions, KillReport } from './killed-restores.ts';

/**
 * Kills a restore into a database when it sends its Nth packet there: before the database gets it, or right
 * after. Then the database must have all of the old data, or all of the new.
 */
interface DatabaseKillOptions extends KillOptions {
  readonly postgres: TestPostgres;
}

interface Point {
  readonly packet: number;
  readonly isSent: boolean;
}

const NEVER: Point = { packet: 0, isSent: false };

export async function runKilledDatabaseRestores(options: DatabaseKillOptions): Promise<KillReport> {
  const trial = new Trial(options, (await findDatabase(options.data)) as string);
  const found = { old: 0, new: 0 };
  const violations: string[] = [];
  const points = choosePoints((await trial.run(NEVER)).packets, options.points);
  let killed = 0;
  for (const point of points) {
    const { isKilled } = await trial.run(point);
    const state = await trial.judge();
    const where = `${isKilled ? 'killed' : 'done'} at packet ${point.packet}${point.isSent ? ', sent' : ''}`;
    if (state !== 'new' && !(isKilled && state === 'old')) violations.push(`${where}: ${state}`);
    else if (isKilled) found[state] += 1;
    if (isKilled) killed += 1;
  }
  await trial.clearUp();
  if (killed < points.length / 2) violations.push(`only ${killed} of ${points.length} restores were killed`);
  return { points: killed, ...found, violations };
}

/** The last packets, of which one is the commit, before and after they are sent; others evenly. */
function choosePoints(packets: number, most: number): readonly Point[] {
  const LAST = 2;
  const all = Array.from({ length: 2 * packets }, (_, index) => ({
    packet: 1 + (index >> 1),
    isSent: index % 2 === 1,
  }));
  const [others, last] = [all.slice(0, -2 * LAST), all.slice(-2 * LAST)];
  const wanted = Math.min(most - last.length, others.length);
  const step = others.length / Math.max(1, wanted);
  return [
    ...Array.from({ length: wanted }, (_, index) => others[Math.floor(index * step)] as Point),
    ...last,
  ];
}

/** A copy of the old database, and one restore into it. */
class Trial {
  readonly #options: DatabaseKillOptions;
  readonly #old: string;
  readonly #database: string;
  readonly #folder: string;

  constructor(options: DatabaseKillOptions, url: string) {
    this.#options = options;
    this.#old = new URL(url).pathname.slice(1);
    this.#database = `${this.#old}_killed`;
    this.#folder = join(options.folder, 'killed');
  }

  /**
   * Returns how many packets the restore has sent, and whether it was killed: it may send fewer than the
   * first restore did, and finish before the packet to be killed at.
   */
  async run(point: Point): Promise<{ readonly packets: number; readonly isKilled: boolean }> {
    await this.clearUp();
    const { data, backup, postgres } = this.#options;
    await this.#administrate(`CREATE DATABASE ${this.#database} TEMPLATE ${this.#old} STRATEGY file_copy`);
    cpSync(data, this.#folder, { recursive: true });
    const gate = new KillGate(postgres.port, point);
    const url = new URL(postgres.url(this.#database));
    url.port = String(await gate.open());
    const words = [...BERTH.args, 'restore', backup, '--data', this.#folder];
    const env = { ...process.env, BERTH_DATABASE_URL: url.href };
    const child = spawn(BERTH.file, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    gate.child = child;
    const log = child.stderr.setEncoding('utf8').toArray();
    const [code, signal] = await once(child, 'exit');
    gate.close();
    const isKilled = point !== NEVER && signal === 'SIGKILL';
    if (code !== 0 && !isKilled)
      throw new Error(`The restore ended with ${code ?? signal}: ${(await log).join('')}`);
    return { packets: gate.packets, isKilled };
  }

  /** Which data is there, once the database has ended what the killed process had begun. */
  async judge(): Promise<string> {
    const { users } = this.#options;
    const url = withDatabase(this.#options.postgres.url('postgres'), this.#database);
    const count = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = '${this.#database}'`;
    await pollUntil('the database has noticed', async () => {
      return (await this.#administrate(count))[0]?.count === 0 ? true : undefined;
    });
    const verdict = await runBerth(this.#folder, ['audit', 'verify'], { BERTH_DATABASE_URL: url });
    if (verdict.code !== 0) return `${verdict.stdout}${verdict.stderr}`;
    const query = (statement: string) => ask(url, statement);
    const broken = await findBrokenRows(query);
    if (broken.length > 0) return broken.join(', ');
    const [found, [kept]] = [await listUsers(query, 'public'), await query(LIST_KEPT)];
    const before = kept === undefined ? null : await listUsers(query, String(kept.name));
    if (found === users.old && before === null) return 'old';
    if (found === users.new && before === users.old) return 'new';
    return `neither old nor new: ${found}, and kept: ${before}`;
  }

  async clearUp(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#administrate(`DROP DATABASE IF EXISTS ${this.#database} WITH (FORCE)`);
  }

  #administrate(statement: string) {
    return ask(this.#options.postgres.url('postgres'), statement);
  }
}

const LIST_KEPT = "SELECT nspname::text AS name FROM pg_namespace WHERE nspname LIKE 'berth_replaced_%'";

type Query = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

async function listUsers(query: Query, schema: string): Promise<string> {
  const text = `SELECT string_agg("user", ',' ORDER BY "user") AS users FROM ${schema}.registration`;
  return String((await query(text))[0]?.users);
}

async function ask(url: string, statement: string) {
  const sql = connect(url, { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    return [...(await sql.unsafe(statement))];
  } finally {
    await sql.end();
  }
}

/** The way to the database, which kills the process that uses it. */
class KillGate {
  child: ChildProcess | null = null;
  packets = 0;
  readonly #point: Point;
  readonly #server: Server;

  constructor(targetPort: number, point: Point) {
    this.#point = point;
    this.#server = createServer((asking) => {
      const answering = connectSocket(targetPort, '127.0.0.1');
      const end = () => {
        asking.destroy();
        answering.destroy();
      };
      for (const socket of [asking, answering]) socket.on('error', end).on('close', end);
      answering.pipe(asking);
      asking.on('data', (packet) => {
        this.packets += 1;
        if (this.packets > this.#point.packet && this.#point !== NEVER) return;
        if (this.packets !== this.#point.packet) answering.write(packet);
        else if (this.#point.isSent) answering.write(packet, () => this.child?.kill('SIGKILL'));
        else this.child?.kill('SIGKILL');
      });
    });
  }

  async open(): Promise<number> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }
}
