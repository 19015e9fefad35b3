import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import connect, { type Sql } from 'postgres';
import { pollUntil } from '../../support/poll.ts';
import { type Settings, startPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import type { Life } from '../door/fault.ts';
import { type AnswerGate, openAnswerGate } from '../fleet/answer-gate.ts';

/** The name under which the standby is known to the primary. */
const STANDBY = 'standby';

/** What belongs to a running server, and what the standby gets over the network. */
const NOT_COPIED = ['postmaster.pid', 'postmaster.opts', 'pg_wal/*', 'pg_replslot/*', 'pg_stat_tmp/*'];

/** Tar returns 1 if files changed while they were read, which is expected of a running database. */
const CHANGED = 1;

interface Role {
  readonly postgres: TestPostgres;
  /** The way by which this one's log reaches a standby. */
  readonly gate: AnswerGate;
}

export type Crash = 'stopped' | 'killed' | 'frozen';

/** A primary and its standby, once that is added. They change their roles again and again. */
export class ReplicatedDatabase {
  readonly #isSynchronous: boolean;
  #primary: Role;
  #standby: Role;
  readonly #frozen: number[] = [];

  private constructor(primary: Role, standby: Role, isSynchronous: boolean) {
    this.#primary = primary;
    this.#standby = standby;
    this.#isSynchronous = isSynchronous;
  }

  static async start(life: Life, isSynchronous: boolean): Promise<ReplicatedDatabase> {
    const [first, second] = await Promise.all([startRole(life), startRole(life)]);
    const database = new ReplicatedDatabase(first, second, isSynchronous);
    life.after(async () => {
      database.wake();
      await Promise.all([first.postgres.end(), second.postgres.end()]);
    });
    await second.postgres.stop('immediate');
    return database;
  }

  /** Creates a database; its URL names both hosts. */
  async createDatabase(): Promise<string> {
    return this.#nameBoth(await this.#primary.postgres.createDatabase());
  }

  /** Where the primary is. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  get port(): number {
    return this.#primary.postgres.port;
  }

  #nameBoth(url: string): string {
    const { host } = this;
    const hosts = `${host},127.0.0.1:${this.#standby.postgres.port}`;
    return `${url.replace(host, hosts)}?target_session_attrs=read-write`;
  }

  /** Copies the primary while it works, as `pg_basebackup` does, and lets the copy follow it. */
  async addStandby(): Promise<void> {
    const { postgres: primary, gate } = this.#primary;
    const { postgres: standby } = this.#standby;
    const source = `host=127.0.0.1 port=${gate.port} user=postgres application_name=${STANDBY}`;
    await withSql(primary, async (sql) => {
      await sql`SELECT pg_create_physical_replication_slot(${STANDBY}, true)`;
      await sql`SELECT pg_backup_start('standby', true)`;
      copyFolder(primary.dataFolder, standby.dataFolder);
      const [stopped] = await sql`SELECT labelfile FROM pg_backup_stop(false)`;
      writeOwned(standby.dataFolder, 'backup_label', stopped?.labelfile as string);
      writeOwned(standby.dataFolder, 'standby.signal', '');
      const follow: Settings = { primary_conninfo: source, primary_slot_name: STANDBY };
      await standby.start({ ...SETTINGS, ...follow });
      if (this.#isSynchronous) await makeSynchronous(sql);
      await waitForStandby(sql, this.#isSynchronous ? 'sync' : 'async');
    });
  }

  /** The standby gets nothing more. A synchronous primary then commits nothing. */
  holdStandbyBack(): void {
    this.#primary.gate.holdAnswers();
  }

  /** Ends the primary as a crash or a loss of power would, or freezes it. */
  async crashPrimary(how: Crash): Promise<void> {
    const { postgres, gate } = this.#primary;
    const pids = listProcesses(postgres.pid as number);
    if (how === 'stopped') await postgres.stop('immediate');
    else for (const pid of pids) sendSignal(pid, how === 'killed' ? 'SIGKILL' : 'SIGSTOP');
    if (how === 'frozen') this.#frozen.push(...pids);
    else await pollUntil('the primary has ended', () => postgres.pid === undefined || undefined);
    gate.loseAnswers();
  }

  /** From now on the standby is the primary. */
  async promote(): Promise<void> {
    await withSql(this.#standby.postgres, (sql) => sql`SELECT pg_promote(true, 60)`);
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /** Lets a frozen primary go on, which does not know of its successor. */
  wake(): void {
    for (const pid of this.#frozen.splice(0)) sendSignal(pid, 'SIGCONT');
  }

  /** Removes what is left of the old primary. */
  async endOld(): Promise<void> {
    this.wake();
    await this.#standby.postgres.stop('immediate');
  }
}

const SETTINGS: Settings = { wal_receiver_timeout: '5s', autovacuum: 'off' };

async function startRole(life: Life): Promise<Role> {
  const postgres = await startPostgres({ settings: SETTINGS });
  return { postgres, gate: await openAnswerGate(life, postgres.port) };
}

async function withSql<T>(postgres: TestPostgres, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = connect(postgres.url('postgres'), { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

/** Set only once there is a standby, and not part of its copy: a new primary does not wait for anybody. */
async function makeSynchronous(sql: Sql): Promise<void> {
  await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
  await sql`SELECT pg_reload_conf()`;
}

/** It follows, and has everything that was committed before. */
async function waitForStandby(sql: Sql, state: string): Promise<void> {
  await pollUntil(`the standby is ${state}`, async () => {
    const [row] = await sql`SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'`;
    return row?.sync_state === state ? true : undefined;
  });
  const [row] = await sql`SELECT pg_current_wal_lsn()::text AS at`;
  await pollUntil('the standby has caught up', async () => {
    const [found] =
      await sql`SELECT flush_lsn >= ${row?.at as string}::pg_lsn AS has FROM pg_stat_replication`;
    return found?.has === true ? true : undefined;
  });
}

function copyFolder(from: string, to: string): void {
  const { uid, gid } = statSync(from);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  const skipped = NOT_COPIED.map((path) => `--exclude=./${path}`);
  const archive = ['tar', '-C', from, ...skipped, '-cf', '-', '.'].join(' ');
  const { status, stderr } = spawnSync('sh', ['-c', `${archive} | tar -C ${to} -xpf -`], {
    encoding: 'utf8',
  });
  if ((status ?? CHANGED + 1) > CHANGED) throw new Error(`The primary could not be copied: ${stderr}`);
  chownSync(to, uid, gid);
  chmodSync(to, 0o700);
}

function writeOwned(folder: string, name: string, text: string): void {
  const { uid, gid } = statSync(folder);
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  chownSync(path, uid, gid);
}

/** A server and the processes that it has started. */
function listProcesses(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [
    pid,
    ...children
      .split(' ')
      .filter((word) => word !== '')
      .map(Number),
  ];
}

/** It may have ended by itself. */
function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
